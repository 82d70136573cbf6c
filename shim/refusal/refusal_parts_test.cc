// SPDX-License-Identifier: Apache-2.0
// What is read for refusals: the driver's log and the map of the process.
#include <gtest/gtest.h>

#include "shim/refusal/address_facts.h"
#include "shim/refusal/driver_log.h"

namespace cuvmm::shim {
namespace {

// Lines as 580.159.04 wrote them.
constexpr const char* kLog =
    "[17:41:46.727][7][CUDA][E] Requested size not aligned to minimum granularity (0x200000 "
    "bytes)\n"
    "[17:41:46.727][7][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemCreate\n"
    "[17:41:46.730][8][CUDA][E] Parameter handle is not a valid CUmemGenericAllocationHandle\n"
    "[17:41:46.730][7][CUDA][E] Failed to allocate physical memory\n"
    "[17:41:46.730][8][CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemMap\n"
    "[17:41:46.730][7][CUDA][E] Returning 800 (CUDA_ERROR_NOT_PERMITTED) from cuMemCreate\n";

TEST(DriverLog, GivesTheSentencesOfTheThreadsLastCall) {
  EXPECT_EQ(sentences_about("cuMemCreate", kLog, 7), "Failed to allocate physical memory");
  EXPECT_EQ(sentences_about("cuMemMap", kLog, 8),
            "Parameter handle is not a valid CUmemGenericAllocationHandle");
}

TEST(DriverLog, SaysNothingOfOthers) {
  EXPECT_EQ(sentences_about("cuMemMap", kLog, 7), "");
  EXPECT_EQ(sentences_about("cuMemCreate", kLog, 9), "");
  EXPECT_EQ(sentences_about("cuMemCreate", "", 7), "");
  EXPECT_EQ(sentences_about("cuMemCreate", "no log\n[x][7", 7), "");
}

TEST(DriverLog, AskedOnlyWhereThereIsOne) {
  EXPECT_EQ(DriverLog{}.about("cuMemCreate"), "");
  const DriverLog failing{
      [](unsigned*, char*, std::size_t*, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }};
  EXPECT_EQ(failing.about("cuMemCreate"), "");
}

TEST(AddressFacts, TheLargestFreeRangeLiesBetweenMappings) {
  EXPECT_EQ(largest_free_range(""), std::uint64_t{1} << 47);
  EXPECT_EQ(largest_free_range("00001000-00002000 r--p 00000000 00:00 0 \n"
                               "7f0000000000-7fffffffffff rw-p 00000000 00:00 0 \n"),
            0x7f0000000000 - 0x2000);
  EXPECT_EQ(
      largest_free_range("00000000-100000000000 r--p 00000000 00:00 0 \n"
                         "700000000000-7fffffffffff rw-p 00000000 00:00 0 [stack]\n"
                         "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"),
      0x600000000000);
}

}  // namespace
}  // namespace cuvmm::shim
