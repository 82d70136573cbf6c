// SPDX-License-Identifier: Apache-2.0
// follow_ticket() and follow_handle() with 64 bytes of unknown origin.
#include "emulator/machine/ticket.h"
#include "api/sizes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

namespace cuvmm::emulator {
namespace {

constexpr int kDevices = 8;
using Token = Facts::Token;

CUmemAllocationProp on_device(int device) {
  CUmemAllocationProp prop{};
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

/// A file of this process with a ticket in it.
class TicketTest : public ::testing::Test {
 protected:
  TicketTest() : fd_(create_shareable(2 * kPage, on_device(3))) {
    EXPECT_TRUE(issue_ticket(fd_, TicketKind::kIpcMemory, 5000, 0, bytes_));
  }
  ~TicketTest() override {
    if (fd_ >= 0) close(fd_);
  }
  static Followed follow(const IpcBytes& bytes, TicketKind kind = TicketKind::kIpcMemory,
                         int devices = kDevices) {
    Followed followed = follow_ticket(bytes, kind, devices);
    if (followed.fd >= 0) close(followed.fd);
    return followed;
  }
  int fd_;
  IpcBytes bytes_{};
};

TEST_F(TicketTest, LeadsToTheFile) {
  const Followed followed = follow(bytes_);
  EXPECT_EQ(followed.token, Token::kOwn);
  EXPECT_GE(followed.fd, 0);
  EXPECT_EQ(followed.ticket.size, 5000u);
  EXPECT_EQ(followed.file.size, 2 * kPage);
  EXPECT_EQ(followed.file.prop.location.id, 3);
}

TEST_F(TicketTest, IsOfAnotherProcessToAChild) {
  const pid_t child = fork();
  if (child == 0) _exit(follow(bytes_).token == Token::kValid ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(TicketTest, EveryByteCounts) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    for (const unsigned char change : {0x01, 0x80, 0xff}) {
      IpcBytes forged = bytes_;
      forged[i] ^= change;
      const Followed followed = follow(forged);
      EXPECT_NE(followed.token, Token::kOwn) << i;
      EXPECT_NE(followed.token, Token::kValid) << i;
      EXPECT_EQ(followed.fd, -1) << i;
    }
  }
}

TEST_F(TicketTest, AHandleLeadsToTheFileOfItsTicket) {
  MemoryHandle handle = MemoryHandle::of(memory_handle(bytes_, 2 * kPage));
  const auto followed = [](const MemoryHandle& of) {
    Followed result = follow_handle(of, kDevices);
    if (result.fd >= 0) close(result.fd);
    return result;
  };
  EXPECT_EQ(followed(handle).token, Token::kOwn);
  EXPECT_EQ(followed(handle).ticket.size, 5000u);
  EXPECT_TRUE(handle.same_block(MemoryHandle::of(memory_handle(bytes_, 2 * kPage))));
  MemoryHandle other = handle;
  other.key[4] ^= 1;
  EXPECT_EQ(followed(other).token, Token::kEnded) << "another file has the number";
  other = handle;
  ++other.pages;
  EXPECT_EQ(followed(other).token, Token::kForged);
  EXPECT_EQ(followed(other).fd, -1);
  other = handle;
  other.process += 1u << 22;
  EXPECT_EQ(followed(other).token, Token::kExporterEnded) << "its number, at another time";
  other = handle;
  other.fd = 1 << 20;
  EXPECT_EQ(followed(other).token, Token::kEnded);
  other.fd = -1;
  EXPECT_EQ(followed(other).fd, -1);
}

TEST_F(TicketTest, RandomBytesAreRefused) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    IpcBytes forged;
    for (unsigned char& byte : forged) byte = static_cast<unsigned char>(random());
    // Half of them start as a ticket does, so that follow_ticket() reads the fields after the
    // start.
    if (round % 2) std::copy_n(bytes_.begin(), 8 + random() % 40, forged.begin());
    EXPECT_EQ(follow(forged).fd, -1);
    EXPECT_EQ(follow_handle(MemoryHandle::of(forged), kDevices).fd, -1);
  }
}

TEST_F(TicketTest, AnotherKindIsRefused) {
  EXPECT_EQ(follow(bytes_, TicketKind::kPoolPointer).token, Token::kForged);
  EXPECT_EQ(follow(bytes_, TicketKind::kIpcEvent).token, Token::kForged);
}

// As a handle of memory, a ticket of another kind is refused before any process is looked at,
// whatever its random bytes are.
TEST_F(TicketTest, OfAnotherKindItIsNoHandle) {
  for (int i = 0; i < 64; ++i) {
    IpcBytes pointer{};
    ASSERT_TRUE(issue_ticket(fd_, TicketKind::kPoolPointer, 5000, 0, pointer));
    EXPECT_LT(MemoryHandle::of(pointer).fd, 0);
  }
}

TEST_F(TicketTest, ADeviceThatIsNotThereIsRefused) {
  EXPECT_EQ(follow(bytes_, TicketKind::kIpcMemory, 3).fd, -1);
}

TEST_F(TicketTest, EndsWithTheFile) {
  close(fd_);
  EXPECT_EQ(follow(bytes_).token, Token::kEnded);
  // The number belongs to another file, even to another ticket's: the old ticket leads nowhere.
  const int other = create_shareable(2 * kPage, on_device(3));
  IpcBytes renewed;
  ASSERT_TRUE(issue_ticket(other, TicketKind::kIpcMemory, 5000, 0, renewed));
  EXPECT_EQ(follow(bytes_).fd, -1);
  fd_ = other;
}

TEST_F(TicketTest, NeverOpensWhatIsNoAllocation) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int null = open("/dev/null", O_RDWR);
  const int self = open("/proc/self/exe", O_RDONLY);
  for (const int fd : {ends[0], ends[1], null, self, 0}) {
    Ticket ticket;
    std::memcpy(&ticket, bytes_.data(), sizeof ticket);
    ticket.fd = fd;
    EXPECT_EQ(follow(ipc_bytes(ticket)).token, Token::kEnded) << fd;
  }
  for (const int fd : {ends[0], ends[1], null, self}) close(fd);
}

TEST_F(TicketTest, ItsMakerMayBeGone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    IpcBytes bytes;
    const int fd = create_shareable(kPage, on_device(0));
    const bool issued = issue_ticket(fd, TicketKind::kIpcMemory, kPage, 0, bytes);
    const bool sent = write(ends[1], bytes.data(), bytes.size()) == sizeof bytes;
    _exit(issued && sent ? 0 : 1);
  }
  IpcBytes bytes;
  ASSERT_EQ(read(ends[0], bytes.data(), bytes.size()), static_cast<ssize_t>(sizeof bytes));
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(follow(bytes).token, Token::kExporterEnded) << "a zombie has no memory left";
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(follow(bytes).token, Token::kExporterEnded);
  // The process id belongs to another process by now, whose files must not be read.
  Ticket ticket;
  std::memcpy(&ticket, bytes.data(), sizeof ticket);
  ticket.pid = getpid();
  ++ticket.start;  // later than this process's start: clock ticks are long, so both processes may
                   // have started in one
  EXPECT_EQ(follow(ipc_bytes(ticket)).token, Token::kExporterEnded);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(TicketTest, AnotherUsersProcessIsNotLookedInto) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  const pid_t child = fork();
  if (child == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(2);
    _exit(follow(bytes_).token == Token::kForged ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PoolFile, IsNoMemory) {
  const int fd = create_shareable(kPage, on_device(0), ShareableKind::kPool);
  EXPECT_FALSE(read_shareable(fd, kDevices));
  EXPECT_TRUE(read_shareable(fd, kDevices, ShareableKind::kPool));
  close(fd);
}

}  // namespace
}  // namespace cuvmm::emulator
