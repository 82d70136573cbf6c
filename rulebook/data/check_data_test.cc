// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_data_test {
namespace {

constexpr std::uint64_t kG = kGranule;
char host[64];

// Maps memory on the host with these accesses for the host and for device 0.
void host_mapped(World& w, unsigned of_host, unsigned of_device) {
  CUmemAllocationProp prop = device_prop();
  prop.location.type = static_cast<CUmemLocationType>(2);
  w.create(0x100, 1, prop);
  w.reserve(kBase, 1);
  w.map(kBase, 1, 0x100);
  w.access(kBase, 1, of_host, 0, 2);
  w.access(kBase, 1, of_device);
}

Facts on_device(int device) {
  Facts facts;
  facts.place.device = device;
  return facts;
}

const auto kDataPool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x9000});
constexpr std::uint64_t kPoolMemory = 0x500000000000;

// 4 KiB of a pool at kPoolMemory; a pool on a device is on device 0.
void data_pool(World& w, CUmemLocationType type) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = type;
  CUmemoryPool pool = kDataPool;
  CUdeviceptr memory = kPoolMemory;
  w.accept(calls::MemPoolCreate{.pool = &pool, .poolProps = &props});
  w.accept(calls::MemAllocFromPoolAsync{.dptr = &memory, .bytesize = 4096, .pool = kDataPool});
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kDriverInitialized,
       [](World& w, bool broken) {
         Facts facts;
         facts.initialized = broken ? Facts::Answer::kNo : Facts::Answer::kYes;
         w.mapped(kBase, 1);
         return check_data(w, calls::MemsetD8{.dstDevice = kBase, .N = 4}, facts);
       }},
      {Rule::kDataMapped,  // runs past the end
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check_data(
             w, calls::MemcpyHtoD{.dstDevice = kBase + kG - 32,
                                  .srcHost = host,
                                  .ByteCount = static_cast<std::size_t>(broken ? 33 : 32)});
       }},
      {Rule::kDataMapped,  // after an unmap
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         if (broken) w.unmap(kBase, 1);
         return check_data(w,
                           calls::MemcpyDtoH{.dstHost = host, .srcDevice = kBase, .ByteCount = 1});
       }},
      {Rule::kDataMapped,  // a row of a 2D fill
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check_data(w,
                           calls::MemsetD2D8{.dstDevice = kBase,
                                             .dstPitch = kG / 2,
                                             .Width = 16,
                                             .Height = static_cast<std::size_t>(broken ? 3 : 2)});
       }},
      {Rule::kDataMapped,  // the host side of a copy from an array
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check_data(w, calls::MemcpyAtoH{.dstHost = reinterpret_cast<void*>(kBase + kG - 8),
                                                .ByteCount = broken ? 9u : 8u});
       }},
      {Rule::kDataFillAligned,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         return check_data(
             w, calls::MemsetD32{.dstDevice = kBase + (broken ? 2u : 4u), .ui = 1, .N = 3});
       }},
      {Rule::kDataPoolOnHost,  // cuMemcpy takes any unified address, so memory on the host is legal
       [](World& w, bool broken) {
         data_pool(w, CU_MEM_LOCATION_TYPE_HOST_NUMA);
         if (broken)
           return check_data(
               w, calls::MemcpyHtoD{.dstDevice = kPoolMemory, .srcHost = host, .ByteCount = 8});
         return check_data(w, calls::Memcpy{.dst = kPoolMemory,
                                            .src = reinterpret_cast<CUdeviceptr>(host),
                                            .ByteCount = 8});
       }},
      {Rule::kDataPoolAccess,  // a copy by another device; the pool's own device needs no access
       [](World& w, bool broken) {
         data_pool(w, CU_MEM_LOCATION_TYPE_DEVICE);
         return check_data(
             w, calls::MemcpyDtoH{.dstHost = host, .srcDevice = kPoolMemory, .ByteCount = 4},
             on_device(broken ? 1 : 0));
       }},
      {Rule::kDataPoolAccess,  // access from before the pool was destroyed still counts
       [](World& w, bool broken) {
         data_pool(w, CU_MEM_LOCATION_TYPE_DEVICE);
         const CUmemAccessDesc desc = access_desc(3, broken ? 0 : 1);
         w.accept(calls::MemPoolSetAccess{.pool = kDataPool, .map = &desc, .count = 1});
         w.accept(calls::MemPoolDestroy{.pool = kDataPool});
         return check_data(w, calls::MemsetD8{.dstDevice = kPoolMemory, .N = 4}, on_device(1));
       }},
      {Rule::kDataPoolAccess,  // access given after a failed destruction counts
       [](World& w, bool broken) {
         data_pool(w, CU_MEM_LOCATION_TYPE_DEVICE);
         w.refuse(calls::MemPoolDestroy{.pool = kDataPool});
         const CUmemAccessDesc desc = access_desc(broken ? 0 : 3, 1);
         w.accept(calls::MemPoolSetAccess{.pool = kDataPool, .map = &desc, .count = 1});
         return check_data(w, calls::MemsetD8{.dstDevice = kPoolMemory, .N = 4}, on_device(1));
       }},
      {Rule::kDataPoolAccess,  // a default pool, which no call made
       [](World& w, bool broken) {
         Facts facts;
         facts.pool.is_default = Facts::Answer::kYes;
         facts.pool.default_device = 0;
         CUdeviceptr memory = kPoolMemory;
         w.accept(
             calls::MemAllocFromPoolAsync{.dptr = &memory, .bytesize = 4096, .pool = kDataPool},
             facts);
         const CUmemAccessDesc desc = access_desc(broken ? 0 : 3, 1);
         w.accept(calls::MemPoolSetAccess{.pool = kDataPool, .map = &desc, .count = 1}, facts);
         return check_data(w, calls::MemsetD8{.dstDevice = kPoolMemory, .N = 4}, on_device(1));
       }},
      {Rule::kDataFillDevice,  // memory opened by legacy IPC
       [](World& w, bool broken) {
         CUdeviceptr pointer = kPoolMemory;
         Facts facts = on_device(0);
         facts.ipc.size = 4096;
         w.accept(calls::IpcOpenMemHandle{.pdptr = &pointer, .handle = {}, .Flags = 1}, facts);
         return check_data(w, calls::MemsetD8{.dstDevice = kPoolMemory + 64, .N = 4},
                           on_device(broken ? 1 : 0));
       }},
      {Rule::kDataFillDevice,  // the same memory may be copied by any device
       [](World& w, bool broken) {
         CUdeviceptr pointer = kPoolMemory;
         w.accept(calls::IpcOpenMemHandle{.pdptr = &pointer, .handle = {}, .Flags = 1},
                  on_device(0));
         if (broken)
           return check_data(w, calls::MemsetD8{.dstDevice = kPoolMemory, .N = 4}, on_device(1));
         return check_data(
             w, calls::MemcpyHtoD{.dstDevice = kPoolMemory, .srcHost = host, .ByteCount = 4},
             on_device(1));
       }},
      {Rule::kDataReadable,  // a copy by a peer device without access
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         Facts facts;
         facts.place.device = broken ? 1 : 0;
         return check_data(
             w, calls::MemcpyDtoHAsync{.dstHost = host, .srcDevice = kBase, .ByteCount = 1}, facts);
       }},
      {Rule::kDataWritable,  // the host's access does not replace the device's
       [](World& w, bool broken) {
         host_mapped(w, 3, broken ? 1 : 3);
         return check_data(w,
                           calls::MemcpyHtoD{.dstDevice = kBase, .srcHost = host, .ByteCount = 1});
       }},
      // The device has no access, so the CPU copies, and the host needs write access.
      {Rule::kDataWritable,
       [](World& w, bool broken) {
         host_mapped(w, broken ? 1 : 0, 3);
         return check_data(w,
                           calls::MemcpyHtoD{.dstDevice = kBase, .srcHost = host, .ByteCount = 1});
       }},
      {Rule::kDataWritable,  // a copy between two places on the host is made by the CPU
       [](World& w, bool broken) {
         host_mapped(w, 1, 3);
         if (!broken) w.mapped(kBase + 16 * kG, 1, 0x200);
         return check_data(w,
                           calls::MemcpyDtoD{.dstDevice = kBase,
                                             .srcDevice = broken ? kBase + kG / 2 : kBase + 16 * kG,
                                             .ByteCount = 1});
       }},
      {Rule::kDataWritable,  // the CPU makes no fills
       [](World& w, bool broken) {
         host_mapped(w, 3, broken ? 0 : 3);
         return check_data(w, calls::MemsetD32{.dstDevice = kBase, .N = 4});
       }},
      {Rule::kDataReadable,  // neither the device nor the host may read
       [](World& w, bool broken) {
         host_mapped(w, broken ? 0 : 1, 0);
         return check_data(w,
                           calls::MemcpyDtoH{.dstHost = host, .srcDevice = kBase, .ByteCount = 1});
       }},
  };
}
const ListedCases kListed(cases);

TEST(Data, AnOverrunNamesTheReservationThatItLeaves) {
  World w;
  w.mapped(kBase, 1);
  const Violations found = check_data(
      w, calls::MemcpyHtoD{.dstDevice = kBase + kG - 32, .srcHost = host, .ByteCount = 33});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("which runs 1 B past the end of reservation"), std::string::npos)
      << found[0].message;
  ASSERT_FALSE(found[0].objects.empty());
  EXPECT_EQ(found[0].objects[0].kind, ObjectRef::Kind::kReservation);
}

TEST(Data, MemoryOfWhichNothingIsKnownMayLieOnTheHost) {
  for (const bool host_reads : {true, false}) {
    World w;
    Handle handle = 0x100;
    calls::MemImportFromShareableHandle import;
    import.handle = &handle;
    w.accept(import);
    w.reserve(kBase, 1);
    w.map(kBase, 1, handle);
    if (host_reads) w.access(kBase, 1, 1, 0, 2);
    const Violations found =
        check_data(w, calls::MemcpyDtoH{.dstHost = host, .srcDevice = kBase, .ByteCount = 1});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].rule, Rule::kDataReadable);
    EXPECT_EQ(found[0].certain, !host_reads) << "the CPU may copy there";
  }
}

}  // namespace
}  // namespace cuvmm::testing::check_data_test
