#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Pointer : public EmulatorTest {
 protected:
  template <class Value>
  Value attribute(CUpointer_attribute number, CUdeviceptr address) {
    Value value{};
    EXPECT_EQ(driver()(calls::PointerGetAttribute{&value, number, address}), CUDA_SUCCESS)
        << number;
    return value;
  }
};

TEST_F(Pointer, TellsReservationAndMappingApart) {
  const CUdeviceptr base = reserve(3 * kGranule);
  const CUmemGenericAllocationHandle handle = create(kGranule, properties(1, 1));
  const CUdeviceptr address = base + kGranule;
  ASSERT_EQ(map(address, kGranule, handle), CUDA_SUCCESS);
  const CUdeviceptr inside = address + 100;
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), base);
  EXPECT_EQ(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), 3 * kGranule);
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, inside), address);
  EXPECT_EQ(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, inside), kGranule);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), 1);
  EXPECT_EQ(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, inside), 1u);
  EXPECT_EQ(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside), 0u);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, inside), nullptr);
  ASSERT_EQ(set_access(address, kGranule, access(0, 1)), CUDA_SUCCESS);
  EXPECT_EQ(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside), 1u);
  EXPECT_EQ(driver()(calls::MemUnmap{address, kGranule}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemRelease{handle}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemAddressFree{base, 3 * kGranule}), CUDA_SUCCESS);
}

TEST_F(Pointer, TwoMappingsOfOneAllocationShareABlockId) {
  const Mapped one = mapped();
  const Mapped two = mapped();
  const CUdeviceptr alias = reserve(kGranule);
  ASSERT_EQ(map(alias, kGranule, one.handle), CUDA_SUCCESS);
  const auto id = [&](CUdeviceptr p) {
    return attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, p);
  };
  EXPECT_EQ(id(one.address), id(alias));
  EXPECT_NE(id(one.address), id(two.address));
  EXPECT_EQ(driver()(calls::MemUnmap{alias, kGranule}), CUDA_SUCCESS);
  EXPECT_EQ(driver()(calls::MemAddressFree{alias, kGranule}), CUDA_SUCCESS);
  end(one);
  end(two);
}

TEST_F(Pointer, PlainMemoryHasAContext) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver()(calls::MemAlloc{&memory, 64}), CUDA_SUCCESS);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, memory), context_);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory), 1);
  EXPECT_EQ(driver()(calls::MemFree{memory}), CUDA_SUCCESS);
  int device = 7;
  EXPECT_EQ(
      driver()(calls::PointerGetAttribute{&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory}),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(device, 7);
}

TEST_F(Pointer, ThePluralAnswersForUnknownPointersWithZeroes) {
  using Plural = CUresult(unsigned, CUpointer_attribute*, void**, CUdeviceptr);
  auto* plural = symbol<Plural>("cuPointerGetAttributes");
  CUpointer_attribute numbers[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
  int here = 0;
  unsigned type = 9;
  CUcontext context = context_;
  void* host = nullptr;
  void* data[] = {&type, &context, &host};
  EXPECT_EQ(plural(3, numbers, data, reinterpret_cast<CUdeviceptr>(&here)), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(host, &here);
  const Mapped m = mapped();
  EXPECT_EQ(plural(2, numbers, data, m.address), CUDA_SUCCESS);
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  end(m);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
