// SPDX-License-Identifier: Apache-2.0
// The sources for refusals: the driver's log and the memory map of the process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "recorder/holdings/writer.h"
#include "shim/refusals/address_facts.h"
#include "shim/refusals/driver_log.h"
#include "shim/refusals/neighbours.h"

namespace cuvmm::shim {
namespace {

// Lines that 580.159.04 wrote.
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

TEST(DriverLog, NamesSymbolsWhereCallsAreMeant) {
  // Lines that 580.159.04 wrote.
  constexpr const char* kNames =
      "[01:41:27.273][7][CUDA][E] Too much\n"
      "[01:41:27.273][7][CUDA][E] Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2\n";
  EXPECT_EQ(sentences_about("cuMemAlloc", kNames, 7), "Too much");
  EXPECT_EQ(sentences_about("cuMemAllo", kNames, 7), "");
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

// A library of this test replaces NVML.
TEST(Neighbours, NvmlsListsAreMerged) {
  const std::vector<Neighbour> all =
      detail::ask_nvml(CUVMM_FAKE_NVML, "0000:1B:00.0", std::chrono::seconds(60));
  ASSERT_EQ(all.size(), 3u) << "one of them computes and draws";
  EXPECT_EQ(all[0].pid, 4711);
  EXPECT_EQ(all[0].bytes, 5u << 20) << "the larger of what both lists say";
  EXPECT_EQ(all[1].bytes, 0u) << "NVML does not say how much";
}

CUresult first_bus_id(char* text, int length, CUdevice) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:1B:00.0");
  return CUDA_SUCCESS;
}

TEST(Neighbours, AreOthersTheLargestFirst) {
  const Neighbourhood whom{&first_bus_id, CUVMM_FAKE_NVML};
  const std::vector<Neighbour> all = neighbours_on(0, whom, "", std::chrono::seconds(60));
  ASSERT_EQ(all.size(), 2u) << "not this process itself, which the fake lists, too";
  EXPECT_EQ(all[0].pid, 4711);
  EXPECT_EQ(all[1].bytes, 0u);
}

TEST(Neighbours, ALibraryThatIsMissingOrAnotherDeviceTellsNothing) {
  constexpr std::chrono::seconds kLong{60};
  EXPECT_TRUE(detail::ask_nvml("/nowhere/libnvidia-ml.so.1", "0000:1B:00.0", kLong).empty());
  EXPECT_TRUE(detail::ask_nvml(CUVMM_FAKE_NVML, "0000:FF:00.0", kLong).empty());
}

TEST(Neighbours, NobodyWaitsForAnNvmlThatHangs) {
  EXPECT_TRUE(detail::ask_nvml(CUVMM_FAKE_NVML, "hangs", std::chrono::milliseconds(50)).empty());
}

// Starts a process that shows 2 MiB mapped on device 0 until the gate is closed.
pid_t start_neighbour(const std::string& folder, const char* visible, int& gate) {
  int begun[2], ends[2];
  EXPECT_EQ(::pipe(begun) | ::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    ::setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    holdings::Writer writer;
    const int error = writer.open(folder + "/" + visible + ".live", "libcuda.so.1");
    holdings::MemoryHeld held;
    held.allocation.handle = 7;
    held.allocation.size = 2 << 20;
    held.allocation.mappings = 1;
    held.allocation.prop_known = true;
    held.allocation.prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    writer.put(held);
    char text = static_cast<char>(error);
    if (::write(begun[1], &text, 1) == 1) (void)::read(ends[0], &text, 1);
    ::_exit(0);
  }
  char error = 1;
  EXPECT_EQ(::read(begun[0], &error, 1), 1);
  EXPECT_EQ(error, 0);
  for (const int fd : {begun[0], begun[1], ends[0]}) ::close(fd);
  gate = ends[1];
  return child;
}

TEST(Neighbours, WhatAProcessShowsIsToldWhereTheSameDevicesAreVisible) {
  std::string folder = (std::filesystem::temp_directory_path() / "cuvmm-near-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  int gates[2];
  const pid_t alike = start_neighbour(folder, "1", gates[0]);
  const pid_t other = start_neighbour(folder, "2", gates[1]);
  constexpr std::chrono::seconds kLong{60};
  EXPECT_TRUE(neighbours_on(0, {}, folder, kLong).empty()) << "other devices are visible here";
  ASSERT_EQ(::setenv("CUDA_VISIBLE_DEVICES", "1", 1), 0);
  EXPECT_EQ(neighbours_on(0, {}, folder, kLong).size(), 1u)
      << "who was refused its first call shows nothing itself";
  holdings::Writer mine;
  ASSERT_EQ(mine.open(folder + "/mine.live", "libcuda.so.1"), 0);
  const std::vector<Neighbour> all = neighbours_on(0, {}, folder, kLong);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].pid, alike);
  EXPECT_TRUE(all[0].shows);
  EXPECT_EQ(all[0].mapped, 2u << 20);
  EXPECT_FALSE(all[0].program.empty());
  EXPECT_TRUE(neighbours_on(1, {}, folder, kLong).empty()) << "nothing of that device";
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  for (const int gate : gates) ::close(gate);
  ::waitpid(alike, nullptr, 0);
  ::waitpid(other, nullptr, 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cuvmm::shim
