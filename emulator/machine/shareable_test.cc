// SPDX-License-Identifier: Apache-2.0
// Descriptors from hostile processes: each is a valid descriptor, changed in one way.
#include "emulator/machine/shareable.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "emulator/machine/physical.h"

namespace cuvmm::emulator {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{4} << 20;
constexpr int kDevices = 2;

CUmemAllocationProp properties(int device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}

std::string trailer_of(int fd) {
  std::string bytes(4096, '\0');
  EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), kSize), 4096);
  return bytes;
}

// A memfd of `size` data bytes, any trailer, any seals.
int forge(std::uint64_t size, const std::string& trailer, int seals) {
  const int fd = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size + 4096)), 0);
  EXPECT_EQ(pwrite(fd, trailer.data(), trailer.size(), static_cast<off_t>(size)),
            static_cast<ssize_t>(trailer.size()));
  if (seals) {
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
  }
  return fd;
}

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

class ShareableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    real_ = create_shareable(kSize, properties(1));
    ASSERT_GE(real_, 0);
    trailer_ = trailer_of(real_);
  }
  void TearDown() override { close(real_); }
  bool accepted(int fd) {
    const bool result = read_shareable(fd, kDevices).has_value();
    close(fd);
    return result;
  }
  int real_ = -1;
  std::string trailer_;
};

TEST_F(ShareableTest, TellsWhatWasShared) {
  const auto found = read_shareable(real_, kDevices);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size, kSize);
  EXPECT_EQ(found->prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(found->prop.location.id, 1);
  EXPECT_EQ(found->prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_NONE);
}

TEST_F(ShareableTest, ItsSizeCannotChange) {
  EXPECT_NE(ftruncate(real_, 0), 0);
  EXPECT_NE(ftruncate(real_, 1 << 30), 0);
  EXPECT_NE(fcntl(real_, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST_F(ShareableTest, AFaithfulForgeryIsAnAllocation) {
  // The control of the cases below: read_shareable() accepts the unchanged bytes.
  EXPECT_TRUE(accepted(forge(kSize, trailer_, kSeals)));
}

TEST_F(ShareableTest, RefusesMissingSeals) {
  EXPECT_FALSE(accepted(forge(kSize, trailer_, 0)));
  EXPECT_FALSE(accepted(forge(kSize, trailer_, F_SEAL_GROW | F_SEAL_SEAL)));
  EXPECT_FALSE(accepted(forge(kSize, trailer_, F_SEAL_SHRINK | F_SEAL_SEAL)));
  EXPECT_FALSE(accepted(forge(kSize, trailer_, F_SEAL_SHRINK | F_SEAL_GROW)));
}

TEST_F(ShareableTest, RefusesWhatCannotBeWritten) {
  EXPECT_FALSE(accepted(forge(kSize, trailer_, kSeals | F_SEAL_WRITE)));
  const std::string path = "/proc/self/fd/" + std::to_string(real_);
  EXPECT_FALSE(accepted(open(path.c_str(), O_RDONLY)));
}

TEST_F(ShareableTest, RefusesAnotherSizeThanTheTrailerSays) {
  EXPECT_FALSE(accepted(forge(kSize / 2, trailer_, kSeals)));
  EXPECT_FALSE(accepted(forge(kSize * 2, trailer_, kSeals)));
  EXPECT_FALSE(accepted(forge(kSize - 4096, trailer_, kSeals)));
}

TEST_F(ShareableTest, RefusesTruncatedFiles) {
  const int empty = memfd_create("empty", MFD_ALLOW_SEALING);
  ASSERT_EQ(fcntl(empty, F_ADD_SEALS, kSeals), 0);
  EXPECT_FALSE(accepted(empty));
  EXPECT_FALSE(accepted(forge(0, trailer_, kSeals)));
}

// Offsets in the trailer: magic 0, version 16, location type 20, id 24, size 32.
TEST_F(ShareableTest, RefusesAForgedTrailer) {
  for (std::size_t at : {0, 14, 16, 19, 20, 23, 24, 27, 32, 39}) {
    std::string forged = trailer_;
    forged[at] = static_cast<char>(forged[at] ^ 0x40);
    EXPECT_FALSE(accepted(forge(kSize, forged, kSeals))) << "byte " << at;
  }
}

TEST_F(ShareableTest, RefusesADeviceThatIsNotThere) {
  EXPECT_FALSE(read_shareable(real_, 1).has_value());
}

TEST_F(ShareableTest, RefusesOtherKindsOfDescriptors) {
  EXPECT_FALSE(read_shareable(-1, kDevices).has_value());
  EXPECT_FALSE(accepted(open("/dev/null", O_RDWR)));
  EXPECT_FALSE(accepted(open("/proc/self/maps", O_RDONLY)));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(accepted(ends[0]));
  EXPECT_FALSE(accepted(ends[1]));
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_FALSE(accepted(ends[0]));
  close(ends[1]);
}

// A huge-page memfd has every property that an earlier check required: seals, size, a valid
// trailer. Where no huge page is left, a touch of such memory raises SIGBUS. The test writes
// nothing to it, because few machines have a free huge page.
TEST_F(ShareableTest, RefusesMemoryOfHugePages) {
  const int fd = memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
  if (fd < 0) GTEST_SKIP() << "this kernel has no huge pages";
  ASSERT_EQ(ftruncate(fd, kSize), 0);
  ASSERT_EQ(fcntl(fd, F_ADD_SEALS, kSeals), 0);
  EXPECT_FALSE(is_fixed_memfd(fd));
  EXPECT_TRUE(is_fixed_memfd(real_));
  EXPECT_FALSE(accepted(fd));
}

TEST_F(ShareableTest, RefusesWhatCannotBeMappedForWriting) {
  constexpr int kFutureWrite = 0x10;
  EXPECT_FALSE(accepted(forge(kSize, trailer_, kSeals | kFutureWrite)));
}

TEST(Shareable, IsAnErrorWhereFilesMayNotBeSoLarge) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = kSize;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(create_shareable(kSize, properties(0)), -1) << "and no SIGXFSZ";
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(Shareable, TakesWhatIsNotZeroToWhereTheCpuReachesIt) {
  const std::uint64_t size = std::uint64_t{1} << 20;
  void* const range = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  Physical memory(size, properties(0), false, 0, nullptr);
  memory.poison();
  const std::string poison(memory.touch(0, size), size);
  ASSERT_NE(poison, std::string(size, 0));
  ASSERT_TRUE(memory.place_at(reinterpret_cast<std::uintptr_t>(range)));
  EXPECT_EQ(memory.touch(0, size), range);
  EXPECT_TRUE(std::string(static_cast<char*>(range), size) == poison);
  munmap(range, size);
}

// The CPU, and a child of the process, may have touched any page of memory that the CPU reaches.
TEST(Shareable, TakesOverWhatTheCpuWroteWhereMemoryLies) {
  const std::uint64_t size = std::uint64_t{8} << 20;
  void* const range = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  Physical memory(size, properties(0), false, 0, nullptr);
  ASSERT_TRUE(memory.place_at(reinterpret_cast<std::uintptr_t>(range)));
  char* const bytes = static_cast<char*>(range);
  const std::uint64_t places[] = {0, 4095, 4096 * 7 + 5, size / 2, size - 1};
  for (const std::uint64_t at : places) bytes[at] = 'x';
  const pid_t child = fork();
  if (child == 0) {
    bytes[size / 4] = 'y';
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const int fd = memory.descriptor();
  ASSERT_GE(fd, 0);
  std::string held(size, 0);
  ASSERT_EQ(pread(fd, held.data(), size, 0), static_cast<ssize_t>(size));
  std::string wanted(size, 0);
  for (const std::uint64_t at : places) wanted[at] = 'x';
  wanted[size / 4] = 'y';
  EXPECT_TRUE(held == wanted);
  bytes[1] = 'z';
  EXPECT_EQ(pread(fd, held.data(), 2, 0), 2);
  EXPECT_EQ(held[1], 'z') << "it is the same memory from then on";
  munmap(range, size);
}

}  // namespace
}  // namespace cuvmm::emulator
