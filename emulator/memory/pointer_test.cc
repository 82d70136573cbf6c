// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class Pointer : public EmulatorTest {
 protected:
  template <class Value>
  Value attribute(CUpointer_attribute number, CUdeviceptr address) {
    Value value{};
    EXPECT_OK(driver()(calls::PointerGetAttribute{&value, number, address})) << number;
    return value;
  }
};

TEST_F(Pointer, TellsReservationAndMappingApart) {
  const CUdeviceptr base = reserve(3 * kGranule);
  const CUmemGenericAllocationHandle handle = create(kGranule, properties(1, 1));
  const CUdeviceptr address = base + kGranule;
  ASSERT_OK(map(address, kGranule, handle));
  const CUdeviceptr inside = address + 100;
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), base);
  EXPECT_EQ(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), 3 * kGranule);
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, inside), address);
  EXPECT_EQ(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, inside), kGranule);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), 1);
  EXPECT_EQ(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, inside), 1u);
  EXPECT_EQ(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside), 0u);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, inside), nullptr);
  ASSERT_OK(set_access(address, kGranule, access(0, 1)));
  EXPECT_EQ(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside), 1u);
  EXPECT_OK(driver()(calls::MemUnmap{address, kGranule}));
  EXPECT_OK(driver()(calls::MemRelease{handle}));
  EXPECT_OK(driver()(calls::MemAddressFree{base, 3 * kGranule}));
}

TEST_F(Pointer, TwoMappingsOfOneAllocationShareABlockId) {
  const Mapped one = mapped();
  const Mapped two = mapped();
  const CUdeviceptr alias = reserve(kGranule);
  ASSERT_OK(map(alias, kGranule, one.handle));
  const auto id = [&](CUdeviceptr p) {
    return attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, p);
  };
  EXPECT_EQ(id(one.address), id(alias));
  EXPECT_NE(id(one.address), id(two.address));
  EXPECT_OK(driver()(calls::MemUnmap{alias, kGranule}));
  EXPECT_OK(driver()(calls::MemAddressFree{alias, kGranule}));
  end(one);
  end(two);
}

TEST_F(Pointer, PlainMemoryHasAContext) {
  CUdeviceptr memory = 0;
  ASSERT_OK(driver()(calls::MemAlloc{&memory, 64}));
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, memory), context_);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory), 1);
  EXPECT_OK(driver()(calls::MemFree{memory}));
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
  EXPECT_OK(plural(3, numbers, data, reinterpret_cast<CUdeviceptr>(&here)));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(host, &here);
  const Mapped m = mapped();
  EXPECT_OK(plural(2, numbers, data, m.address));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  end(m);
}

// The number of bytes that a call writes to its out-parameter.
template <class Call>
std::size_t written(const Call& call) {
  unsigned char one[32], two[32];
  std::memset(one, 0x55, sizeof one);
  std::memset(two, 0xaa, sizeof two);
  call(one);
  call(two);
  std::size_t width = 0;
  for (std::size_t i = 0; i < sizeof one; ++i) {
    if (one[i] == two[i]) width = i + 1;
  }
  return width;
}

struct Width {
  int attribute;
  std::size_t bytes;
};
// The widths that an H200 wrote.
constexpr Width kWidths[] = {{1, 8},  {2, 4},  {3, 8},  {6, 4},  {7, 8},  {8, 4},  {9, 4},
                             {10, 4}, {11, 8}, {12, 8}, {13, 4}, {14, 8}, {15, 4}, {16, 4},
                             {17, 8}, {18, 8}, {19, 8}, {20, 8}, {21, 4}};

TEST_F(Pointer, AttributesHaveTheirWidthsInBothCalls) {
  using Plural = CUresult(unsigned, CUpointer_attribute*, void**, CUdeviceptr);
  auto* plural = symbol<Plural>("cuPointerGetAttributes");
  const Mapped m = mapped();
  const CUdeviceptr reserved = reserve(kGranule);
  for (const auto& [number, bytes] : kWidths) {
    auto attribute = static_cast<CUpointer_attribute>(number);
    const auto singular = [&](void* out) {
      return driver()(calls::PointerGetAttribute{out, attribute, m.address});
    };
    EXPECT_EQ(written(singular), bytes) << number;
    for (const CUdeviceptr address : {m.address, reserved}) {
      EXPECT_EQ(written([&](void* out) { plural(1, &attribute, &out, address); }), bytes) << number;
    }
  }
  EXPECT_OK(driver()(calls::MemAddressFree{reserved, kGranule}));
  end(m);
}

TEST_F(Pointer, ThePluralKnowsReservations) {
  using Plural = CUresult(unsigned, CUpointer_attribute*, void**, CUdeviceptr);
  auto* plural = symbol<Plural>("cuPointerGetAttributes");
  CUpointer_attribute numbers[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  CUdeviceptr start = 5;
  std::size_t size = 6;
  int ordinal = 7;
  void* data[] = {&start, &size, &ordinal};
  const CUdeviceptr base = reserve(3 * kGranule);
  EXPECT_OK(plural(3, numbers, data, base + kGranule + 1));
  EXPECT_EQ(start, base);
  EXPECT_EQ(size, 3 * kGranule);
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
  EXPECT_OK(driver()(calls::MemAddressFree{base, 3 * kGranule}));
  start = 5;
  size = 6;
  EXPECT_OK(plural(3, numbers, data, base + 1));
  EXPECT_EQ(start, 5u) << "nothing is known, nothing is written";
  EXPECT_EQ(size, 6u);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
