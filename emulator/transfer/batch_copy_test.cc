// SPDX-License-Identifier: Apache-2.0
// Copies with attributes, and batches of them in both ABIs. transfer_test.cc has more tests of CUDA
// 13's cuMemcpyBatchAsync, as an H200 answered.
#include <cstdint>
#include <numeric>
#include <vector>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class BatchCopy : public EmulatorTest {
 protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    m_ = mapped();
    std::vector<unsigned char> bytes(256);
    std::iota(bytes.begin(), bytes.end(), 0);
    ASSERT_OK(driver()(calls::MemcpyHtoD{m_.address, bytes.data(), bytes.size()}));
    attributes_.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  void TearDown() override { end(m_); }

  int byte_at(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_OK(driver()(calls::MemcpyDtoH{&byte, address, 1}));
    return byte;
  }
  CUDA_MEMCPY3D_BATCH_OP block(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D_BATCH_OP op{};
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = from;
    op.src.op.ptr.rowLength = 8;
    op.dst.op.ptr.ptr = to;
    op.extent = {.width = 2, .height = 2, .depth = 2};
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    return op;
  }

  Mapped m_;
  CUmemcpyAttributes attributes_{};
  std::size_t first_ = 0;
};

TEST_F(BatchCopy, TheOlderAbiSaysWhichCopyFailed) {
  CUdeviceptr to[] = {m_.address + 1024, m_.address + 2048}, from[] = {m_.address, m_.address + 8};
  std::size_t sizes[] = {4, 4}, failed = 77;
  calls::MemcpyBatchAsync batch{.dsts = to,
                                .srcs = from,
                                .sizes = sizes,
                                .count = 2,
                                .attrs = &attributes_,
                                .attrsIdxs = &first_,
                                .numAttrs = 1,
                                .failIdx = &failed,
                                .hStream = CU_STREAM_PER_THREAD};
  EXPECT_OK(driver()(batch));
  EXPECT_EQ(failed, SIZE_MAX) << "none";
  EXPECT_EQ(byte_at(m_.address + 1024 + 3), 3);
  EXPECT_EQ(byte_at(m_.address + 2048), 8);
  to[1] = m_.address + m_.size;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 1u);
  attributes_.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, SIZE_MAX) << "no copy's fault";
  failed = 77;
  batch.hStream = nullptr;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 77u) << "nothing is told on NULL";
  batch.hStream = CU_STREAM_LEGACY;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, SIZE_MAX);
  batch.failIdx = nullptr;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
}

// Under the name for per-thread default streams, NULL is not the legacy stream.
TEST_F(BatchCopy, TheLegacyStreamIsRefusedByEitherName) {
  CUdeviceptr to = m_.address + 1024, from = m_.address;
  std::size_t size = 4;
  const calls::MemcpyBatchAsync_v2 batch{.dsts = &to,
                                         .srcs = &from,
                                         .sizes = &size,
                                         .count = 1,
                                         .attrs = &attributes_,
                                         .attrsIdxs = &first_,
                                         .numAttrs = 1};
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  auto* per_thread = symbol<std::remove_pointer_t<calls::MemcpyBatchAsync_v2::Function>>(
      "cuMemcpyBatchAsync_v2_ptsz");
  EXPECT_OK(batch.invoke(per_thread));
  calls::MemcpyBatchAsync_v2 named = batch;
  named.hStream = CU_STREAM_LEGACY;
  EXPECT_EQ(named.invoke(per_thread), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(BatchCopy, BlocksHaveRowsAndLayers) {
  CUDA_MEMCPY3D_BATCH_OP op = block(m_.address + 1024, m_.address + 16);
  calls::Memcpy3DBatchAsync_v2 batch{.numOps = 1, .opList = &op, .hStream = CU_STREAM_PER_THREAD};
  ASSERT_OK(driver()(batch));
  // Packed without gaps, from rows of 8 and layers of 2 rows.
  const int expected[] = {16, 17, 24, 25, 32, 33, 40, 41};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(byte_at(m_.address + 1024 + i), expected[i]) << i;
  op.dst.op.ptr.ptr = m_.address + m_.size - 7;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE) << "one byte past the end";
  op.dst.op.ptr.ptr = m_.address + m_.size - 8;
  EXPECT_OK(driver()(batch));
  op.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  op.src.op.array.array = nullptr;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_NOT_SUPPORTED) << "the emulator copies no arrays";
}

TEST_F(BatchCopy, TheOlderBlocksSayWhichFailed) {
  CUDA_MEMCPY3D_BATCH_OP ops[] = {block(m_.address + 1024, m_.address),
                                  block(m_.address + m_.size, m_.address)};
  std::size_t failed = 77;
  calls::Memcpy3DBatchAsync batch{
      .numOps = 2, .opList = ops, .failIdx = &failed, .hStream = CU_STREAM_PER_THREAD};
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, SIZE_MAX) << "wrong memory is not told";
  EXPECT_EQ(byte_at(m_.address + 1024 + 2), 8) << "the one before it was made";
  ops[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 1u);
  ops[1] = block(m_.address + 1024, m_.address);
  ops[1].extent.depth = 0;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, 1u) << "no byte to copy";
  batch.flags = 1;
  EXPECT_EQ(driver()(batch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(failed, SIZE_MAX) << "the call's own flags";
  batch.flags = 0;
  batch.numOps = 1;
  EXPECT_OK(driver()(batch));
  EXPECT_EQ(failed, SIZE_MAX) << "none";
}

TEST_F(BatchCopy, OneCopyMayHaveAttributes) {
  calls::MemcpyWithAttributesAsync copy{
      .dst = m_.address + 1024, .src = m_.address + 3, .size = 2, .attr = &attributes_};
  ASSERT_OK(driver()(copy)) << "on the legacy stream too";
  EXPECT_EQ(byte_at(m_.address + 1024), 3);
  attributes_.dstLocHint.type = CU_MEM_LOCATION_TYPE_DEVICE;
  attributes_.dstLocHint.id = 99;
  EXPECT_EQ(driver()(copy), CUDA_ERROR_INVALID_VALUE) << "a hint at no device";
  CUDA_MEMCPY3D_BATCH_OP op = block(m_.address + 2048, m_.address);
  calls::Memcpy3DWithAttributesAsync deep{.op = &op};
  ASSERT_OK(driver()(deep));
  EXPECT_EQ(byte_at(m_.address + 2048 + 2), 8);
  deep.flags = 1;
  EXPECT_EQ(driver()(deep), CUDA_ERROR_INVALID_VALUE);
}

// As on an H200; the profile `documented` covers calls with wrong arguments.
TEST_F(BatchCopy, NoEngineUnpacks) {
  std::size_t wrong = 7;
  calls::MemBatchDecompressAsync call{.count = 1, .flags = 1, .errorIndex = &wrong};
  EXPECT_EQ(driver()(call), CUDA_ERROR_NOT_SUPPORTED);
  call.count = call.flags = 0;
  EXPECT_EQ(driver()(call), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(wrong, 7u);
}

// As on an H200, and only with the older ABI.
TEST_F(BatchCopy, ADestinationMayBeUnmapped) {
  const CUdeviceptr nowhere = reserve(kGranule);
  CUdeviceptr to = nowhere, from = m_.address;
  std::size_t size = 4;
  const calls::MemcpyBatchAsync older{.dsts = &to,
                                      .srcs = &from,
                                      .sizes = &size,
                                      .count = 1,
                                      .attrs = &attributes_,
                                      .attrsIdxs = &first_,
                                      .numAttrs = 1,
                                      .hStream = CU_STREAM_PER_THREAD};
  EXPECT_OK(driver()(older));
  const calls::MemcpyBatchAsync_v2 newer{.dsts = &to,
                                         .srcs = &from,
                                         .sizes = &size,
                                         .count = 1,
                                         .attrs = &attributes_,
                                         .attrsIdxs = &first_,
                                         .numAttrs = 1,
                                         .hStream = CU_STREAM_PER_THREAD};
  EXPECT_EQ(driver()(newer), CUDA_ERROR_INVALID_VALUE);
  from = nowhere;
  EXPECT_EQ(driver()(older), CUDA_ERROR_INVALID_VALUE) << "there is nothing to copy";
  EXPECT_OK(driver()(calls::MemAddressFree{nowhere, kGranule}));
}

// In a capture, a batch is a node, which copies the bytes that its arrays hold at the launch.
TEST_F(BatchCopy, ACapturedBatchIsMadeAtEachLaunch) {
  CUstream stream = nullptr;
  ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, 1));
  ASSERT_OK(symbol<CUresult(CUstream, int)>("cuStreamBeginCapture_v2")(stream, 0));
  CUgraph graph = nullptr;
  {
    CUdeviceptr to = m_.address + 1024, from = m_.address + 5;
    std::size_t size = 1;
    const calls::MemcpyBatchAsync_v2 batch{.dsts = &to,
                                           .srcs = &from,
                                           .sizes = &size,
                                           .count = 1,
                                           .attrs = &attributes_,
                                           .attrsIdxs = &first_,
                                           .numAttrs = 1,
                                           .hStream = stream};
    ASSERT_OK(driver()(batch));
    to = from = 0;
  }
  ASSERT_OK(symbol<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, &graph));
  EXPECT_EQ(byte_at(m_.address + 1024), 0) << "not yet";
  std::size_t count = 1;
  CUgraphNode node = nullptr;
  CUgraphNodeType type{};
  ASSERT_OK(symbol<CUresult(CUgraph, CUgraphNode*, std::size_t*)>("cuGraphGetNodes")(graph, &node,
                                                                                     &count));
  ASSERT_OK(symbol<CUresult(CUgraphNode, CUgraphNodeType*)>("cuGraphNodeGetType")(node, &type));
  EXPECT_EQ(static_cast<int>(type), 14);
  CUgraphExec executable = nullptr;
  ASSERT_OK((symbol<CUresult(CUgraphExec*, CUgraph, unsigned long long)>(
      "cuGraphInstantiateWithFlags")(&executable, graph, 0)));
  ASSERT_OK((symbol<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch")(executable, nullptr)));
  EXPECT_EQ(byte_at(m_.address + 1024), 5);
  EXPECT_OK(symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy")(executable));
  EXPECT_OK(symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph));
  EXPECT_OK(symbol<CUresult(CUstream)>("cuStreamDestroy_v2")(stream));
}

// No document says that a graph can hold a prefetch.
TEST_F(BatchCopy, APrefetchIsNotCaptured) {
  CUstream stream = nullptr;
  ASSERT_OK(symbol<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&stream, 1));
  ASSERT_OK(symbol<CUresult(CUstream, int)>("cuStreamBeginCapture_v2")(stream, 0));
  CUmemLocation host{};
  host.type = static_cast<CUmemLocationType>(2);
  EXPECT_EQ(driver()(calls::MemPrefetchAsync_v2{
                .devPtr = 0x1000, .count = 64, .location = host, .hStream = stream}),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(symbol<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_OK(symbol<CUresult(CUstream)>("cuStreamDestroy_v2")(stream));
}

}  // namespace
}  // namespace cuvmm::emulator::testing
