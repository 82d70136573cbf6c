// SPDX-License-Identifier: Apache-2.0
// Teams within one process, and descriptors from hostile processes.
#include "emulator/machine/team.h"
#include "api/sizes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "emulator/machine/shareable.h"

namespace cuvmm::emulator {
namespace {

constexpr int kMachine = 4;

/// A memfd like that of an allocation.
class Memory {
 public:
  explicit Memory(std::uint64_t size = kGranule) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    fd_ = create_shareable(size, prop);
  }
  ~Memory() { drop(); }
  void drop() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }
  char at(std::uint64_t offset) const {
    char byte = 0;
    EXPECT_EQ(pread(fd_, &byte, 1, static_cast<off_t>(offset)), 1);
    return byte;
  }

 private:
  int fd_ = -1;
};

TEST(Team, IsCompleteWithItsLastDevice) {
  const auto team = Team::create(2, 4 * kGranule);
  ASSERT_NE(team, nullptr);
  EXPECT_TRUE(team->add(3));
  EXPECT_FALSE(team->add(3));
  EXPECT_FALSE(team->complete());
  const auto other = Team::open(team->descriptor(), kMachine);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->devices(), 2u);
  EXPECT_EQ(other->size(), 4 * kGranule);
  EXPECT_FALSE(other->add(3));
  EXPECT_TRUE(other->add(1));
  EXPECT_TRUE(team->complete());
  EXPECT_EQ(team->members().visible, 0b1010u);
  EXPECT_FALSE(team->add(0)) << "there is no room";
}

TEST(Team, WaitsUntilItIsCompleteOrTheTimeIsOver) {
  const auto team = Team::create(1, kGranule);
  team->wait(std::chrono::milliseconds(5));
  EXPECT_FALSE(team->complete());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    team->add(0);
  });
  team->wait(std::chrono::minutes(5));
  EXPECT_TRUE(team->complete());
  other.join();
}

TEST(Team, AnotherProcessEndsTheWait) {
  const auto team = Team::create(2, kGranule);
  team->add(0);
  const pid_t child = fork();
  if (child == 0) {
    const auto same = Team::open(team->descriptor(), kMachine);
    _exit(same && same->add(1) ? 0 : 1);
  }
  team->wait(std::chrono::minutes(5));
  EXPECT_TRUE(team->complete());
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Team, AWriteReachesEveryMember) {
  const auto team = Team::create(2, 4 * kGranule);
  team->add(0);
  team->add(1);
  Memory one(2 * kGranule), two, three;
  ASSERT_EQ(team->bind(0, 0, 2 * kGranule, {one.fd(), 0}), CUDA_SUCCESS);
  ASSERT_EQ(team->bind(1, 0, kGranule, {two.fd(), 0}), CUDA_SUCCESS);
  EXPECT_NE(team->unwritable(kGranule - 1, 2).find("device 1 has nothing bound at offset 2097152"),
            std::string::npos);
  ASSERT_EQ(team->bind(1, kGranule, kGranule, {three.fd(), 0}), CUDA_SUCCESS);
  EXPECT_EQ(team->unwritable(kGranule - 1, 2), "");
  EXPECT_TRUE(team->write(kGranule - 1, "ab", 2));
  EXPECT_EQ(one.at(kGranule - 1), 'a');
  EXPECT_EQ(one.at(kGranule), 'b');
  EXPECT_EQ(two.at(kGranule - 1), 'a');
  EXPECT_EQ(three.at(0), 'b');
}

TEST(Team, ADeviceBindsARangeOnce) {
  const auto team = Team::create(1, 4 * kGranule);
  team->add(0);
  Memory memory(2 * kGranule), other;
  EXPECT_EQ(team->bind(0, 0, 2 * kGranule, {memory.fd(), 0}), CUDA_SUCCESS);
  EXPECT_EQ(team->bind(0, kGranule, kGranule, {other.fd(), 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(team->bind(0, 2 * kGranule, kGranule, {other.fd(), 0}), CUDA_SUCCESS);
  EXPECT_EQ(team->bind(1, 0, kGranule, {other.fd(), 0}), CUDA_SUCCESS);
  EXPECT_FALSE(team->unbind(0, kGranule));
  EXPECT_TRUE(team->unbind(0, 0));
  EXPECT_FALSE(team->unbind(0, 0));
  EXPECT_EQ(team->bind(0, kGranule, kGranule, {other.fd(), 0}), CUDA_SUCCESS);
}

TEST(Team, MemoryThatIsGoneIsNotBound) {
  const auto team = Team::create(1, kGranule);
  team->add(0);
  Memory memory;
  ASSERT_EQ(team->bind(0, 0, kGranule, {memory.fd(), 0}), CUDA_SUCCESS);
  memory.drop();
  EXPECT_NE(team->unwritable(0, 1), "");
  EXPECT_FALSE(team->write(0, "x", 1));
  Memory next;  // gets the number of the closed descriptor, most likely
  EXPECT_NE(team->unwritable(0, 1), "");
  EXPECT_EQ(team->bind(0, 0, kGranule, {next.fd(), 0}), CUDA_SUCCESS);
  EXPECT_EQ(team->unwritable(0, 1), "");
}

TEST(Team, HasRoomForManyBindingsAndSaysWhenItIsFull) {
  const auto team = Team::create(1, std::uint64_t{1} << 40);
  Memory memory;
  std::uint64_t at = 0;
  CUresult result = CUDA_SUCCESS;
  for (; result == CUDA_SUCCESS && at < 1 << 14; ++at) {
    result = team->bind(0, at * kGranule, kGranule, {memory.fd(), 0});
  }
  EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_GT(at, 1000u);
}

TEST(Team, FindsEachOfManyBindings) {
  constexpr std::uint64_t kPiece = 4096;
  constexpr std::uint64_t kCount = 300;  // on several pages
  const auto team = Team::create(1, 4 * kGranule);
  team->add(0);
  Memory memory;
  const auto other = Team::open(team->descriptor(), kMachine);
  ASSERT_NE(other, nullptr);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const Team::Memory piece{memory.fd(), i * kPiece};
    ASSERT_EQ((i % 2 ? other : team)->bind(0, i * kPiece, kPiece, piece), CUDA_SUCCESS) << i;
    ASSERT_EQ((i % 2 ? team : other)->bind(0, i * kPiece, 1, piece), CUDA_ERROR_INVALID_VALUE) << i;
    ASSERT_TRUE(other->write(i * kPiece, "x", 1)) << i;
    ASSERT_EQ(memory.at(i * kPiece), 'x') << i;
  }
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_TRUE(team->unbind(0, i * kPiece)) << i;
  EXPECT_EQ(other->bind(0, 0, kGranule, {memory.fd(), 0}), CUDA_SUCCESS);
}

TEST(HostileTeam, WhatIsNoTeamIsRefused) {
  const auto team = Team::create(2, 4 * kGranule);
  struct stat;
  EXPECT_EQ(Team::open(-1, kMachine), nullptr);
  EXPECT_EQ(Team::open(9999, kMachine), nullptr);
  Memory memory;
  EXPECT_EQ(Team::open(memory.fd(), kMachine), nullptr);
  EXPECT_FALSE(read_shareable(team->descriptor(), kMachine).has_value());
  const off_t size = lseek(team->descriptor(), 0, SEEK_END);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  ASSERT_EQ(pread(team->descriptor(), bytes.data(), bytes.size(), 0), size);
  const int unsealed = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(pwrite(unsealed, bytes.data(), bytes.size(), 0), size);
  EXPECT_EQ(Team::open(unsealed, kMachine), nullptr) << "it could shrink under a mapping";
  ASSERT_EQ(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_NE(Team::open(unsealed, kMachine), nullptr) << "the near miss";
  for (const std::size_t place : {std::size_t{0}, std::size_t{16}}) {  // magic, version
    const char wrong = static_cast<char>(bytes[place] + 1);
    ASSERT_EQ(pwrite(unsealed, &wrong, 1, static_cast<off_t>(place)), 1);
    EXPECT_EQ(Team::open(unsealed, kMachine), nullptr) << place;
    ASSERT_EQ(pwrite(unsealed, &bytes[place], 1, static_cast<off_t>(place)), 1);
  }
  const std::string zeroes(12, '\0');  // devices and size
  ASSERT_EQ(pwrite(unsealed, zeroes.data(), zeroes.size(), 20), 12);
  EXPECT_EQ(Team::open(unsealed, kMachine), nullptr);
  close(unsealed);
}

TEST(HostileTeam, NoBytesOfTheStateDoHarm) {
  const auto team = Team::create(1, 4 * kGranule);
  team->add(0);
  Memory memory, bystander;
  ASSERT_EQ(team->bind(0, 0, kGranule, {memory.fd(), 0}), CUDA_SUCCESS);
  const off_t size = lseek(team->descriptor(), 0, SEEK_END);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  ASSERT_EQ(pread(team->descriptor(), bytes.data(), bytes.size(), 0), size);
  constexpr off_t kFirstEntry = 48;
  std::uint64_t seed = 88172645463325252u;
  for (int round = 0; round < 20000; ++round) {
    std::string forged = bytes.substr(0, 256);
    for (int change = 0; change < 3; ++change) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      const std::size_t field =
          static_cast<std::size_t>(kFirstEntry) + (seed % 16) * sizeof(std::uint64_t);
      const std::uint64_t values[] = {seed, ~std::uint64_t{0}, seed % 7, std::uint64_t{1} << 63};
      std::memcpy(&forged[field], &values[seed >> 8 & 3], sizeof seed);
    }
    ASSERT_EQ(pwrite(team->descriptor(), forged.data(), forged.size(), 0), 256);
    team->write(seed % (5 * kGranule), "x", 1);
    team->unbind(0, 0);
    (void)team->bind(0, seed % 4 * kGranule, kGranule, {memory.fd(), 0});
  }
  EXPECT_EQ(bystander.at(0), 0);
  EXPECT_EQ(lseek(memory.fd(), 0, SEEK_END), static_cast<off_t>(kGranule + 4096));
}

TEST(HostileTeam, DevicesThatDoNotExistAreNoMembers) {
  const auto team = Team::create(2, kGranule);
  const std::uint64_t all = ~std::uint64_t{0};
  ASSERT_EQ(pwrite(team->descriptor(), &all, sizeof all, 40), 8);
  EXPECT_EQ(Team::open(team->descriptor(), kMachine)->members().visible, 0b1111u);
}

}  // namespace
}  // namespace cuvmm::emulator
