// SPDX-License-Identifier: Apache-2.0
// Names for memory that another process can use: the 64 bytes of an IPC handle. They lead to a file
// of the process that made them, and this opens it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "emulator/machine/shareable.h"
#include "rulebook/base/platform.h"
#include "rulebook/states/ipc_state.h"

namespace cuvmm::emulator {

/// What a ticket names. It stands in the file too, so that none passes for another.
enum class TicketKind : std::uint8_t { kIpcMemory = 1, kIpcEvent, kPoolPointer, kPool, kEndpoint };

/// The 64 bytes. The same bytes stand in the last page of the file that they name: a ticket counts
/// only where every one of them agrees, 128 random bits among them.
struct Ticket {
  char magic[8] = {};
  TicketKind kind{};
  std::uint8_t version = 0;
  std::uint16_t reserved = 0;
  std::int32_t pid = 0;
  std::uint64_t start = 0;  ///< when the process started, in clock ticks since boot
  std::int32_t fd = -1;     ///< its descriptor of the file
  std::uint32_t reserved2 = 0;
  std::uint64_t size = 0;  ///< bytes of the memory, as it was asked for
  std::uint64_t pool = 0;  ///< id of the pool that it belongs to; 0 none
  unsigned char token[16] = {};
};
static_assert(sizeof(Ticket) == sizeof(IpcBytes));

/// Whether a process is of this one's effective user, so that its files may be looked into. The
/// kernel alone would let root, and so a set-user-ID program, be sent anywhere.
bool same_user(std::int32_t pid);

/// Makes a ticket for the file of a create_shareable() and writes it there; false when the kernel
/// refuses randomness or the write. `fd` stays open as long as the ticket shall be good.
bool issue_ticket(int fd, TicketKind kind, std::uint64_t size, std::uint64_t pool, IpcBytes& out);

/// The ticket in the last page of a file, if it is of this kind.
std::optional<Ticket> read_ticket(int fd, const Shareable& file, TicketKind kind);

/// Where a ticket leads.
struct Followed {
  Facts::Token token = Facts::Token::kForged;
  int fd = -1;  ///< the caller closes it; -1 unless the ticket is good (kValid, kOwn)
  Shareable file;
  Ticket ticket;
};

/// Follows 64 bytes that may come from anybody. Opens nothing but a file that has them in its last
/// page, and that belongs to a process of this user which the kernel lets us look into
/// (/proc/PID/fd); touches nothing else of the system, and never blocks.
Followed follow_ticket(const IpcBytes& bytes, TicketKind kind, int device_count);

/// The 64 bytes of a legacy IPC handle of memory. An H200 looks at few of them, and at some only
/// where the block is not open yet; what is meant by each lies here where it lies there.
struct MemoryHandle {
  char magic[8] = {};  ///< this and all that is called unused: never looked at
  unsigned char unused[8] = {};
  std::uint64_t size = 0;     ///< of the memory; cut to the block
  std::uint32_t pages = 0;    ///< of the block. Looked at when the block is opened anew
  std::uint32_t offset = 0;   ///< in the block, of what is opened
  unsigned char key[5] = {};  ///< looked at when the block is opened anew
  unsigned char unused2[3] = {};
  unsigned char identity[8] = {};  ///< of the block: what is open with the same is not opened anew
  std::uint32_t process = 0;       ///< whose it is
  std::int32_t fd = -1;            ///< its descriptor of the file
  unsigned char unused3[8] = {};

  static MemoryHandle of(const IpcBytes& bytes);
  IpcBytes bytes() const;
  /// Whether both name one block of one process.
  bool same_block(const MemoryHandle& other) const;
};
static_assert(sizeof(MemoryHandle) == sizeof(IpcBytes));

/// The handle for what an issued ticket of kind kIpcMemory names, in a file of `block` bytes.
IpcBytes memory_handle(const IpcBytes& ticket, std::uint64_t block);
/// Follows a handle as follow_ticket() does a ticket: the file must hold a ticket of which the
/// bytes of the handle that an H200 looks at are made.
Followed follow_handle(const MemoryHandle& handle, int device_count);

}  // namespace cuvmm::emulator
