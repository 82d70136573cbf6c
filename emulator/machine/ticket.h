// SPDX-License-Identifier: Apache-2.0
// Names for memory that another process can use: the 64 bytes of an IPC handle. They lead to a file
// of the process that made them; follow_ticket() and follow_handle() open it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "emulator/machine/shareable.h"
#include "rulebook/base/platform.h"
#include "rulebook/states/ipc_state.h"

namespace cuvmm::emulator {

/// The kind of object that a ticket names. The file contains it too, so that no kind passes for
/// another.
enum class TicketKind : std::uint8_t {
  kIpcMemory = 1,
  kIpcEvent,
  kPoolPointer,
  kPool,
  kEndpoint,
  kFabricMemory,
  kFabricMulticast,
};

/// The 64 bytes. The last page of the file that they name contains equal bytes: a ticket is valid
/// only where every byte agrees, 128 random bits among them.
struct Ticket {
  char magic[8] = {};
  TicketKind kind{};
  std::uint8_t version = 0;
  std::uint16_t reserved = 0;
  std::int32_t pid = 0;
  std::uint64_t start = 0;  ///< when the process started, in clock ticks since boot
  std::int32_t fd = -1;     ///< its descriptor of the file
  std::uint32_t reserved2 = 0;
  std::uint64_t size = 0;  ///< bytes of the memory, as the program requested them
  std::uint64_t pool = 0;  ///< id of the pool that the memory belongs to; 0: no pool
  unsigned char token[16] = {};
};
static_assert(sizeof(Ticket) == sizeof(IpcBytes));

/// Whether a process has this process's effective user, so that its files may be read. The kernel's
/// check alone would let a ticket send root, and so a set-user-ID program, to any file.
bool same_user(std::int32_t pid);

/// Makes a ticket for the file of a create_shareable() and writes it there; false when the kernel
/// refuses randomness or the write. `fd` stays open as long as the ticket is to be valid.
bool issue_ticket(int fd, TicketKind kind, std::uint64_t size, std::uint64_t pool, IpcBytes& out);

/// Ends the ticket in a file of `size` bytes, without its last page, that issue_ticket() wrote.
void withdraw_ticket(int fd, std::uint64_t size);

/// The ticket in the last page of a file, if it is of this kind.
std::optional<Ticket> read_ticket(int fd, const Shareable& file, TicketKind kind);

/// The file that a ticket leads to.
struct Followed {
  Facts::Token token = Facts::Token::kForged;
  int fd = -1;  ///< the caller closes it; -1 unless the ticket is valid (kValid, kOwn)
  Shareable file;
  Ticket ticket;
};

/// Follows 64 bytes of unknown origin. Opens only a file that has these bytes in its last page and
/// belongs to a process of this user, which the kernel lets this process read (/proc/PID/fd).
/// Touches nothing else of the system, and never blocks.
Followed follow_ticket(const IpcBytes& bytes, TicketKind kind, int device_count);

/// The 64 bytes of a legacy IPC handle of memory. An H200 reads few of them, and reads some only
/// where the block is not open yet. Each field here lies where an H200 reads the bytes of that
/// meaning.
struct MemoryHandle {
  char magic[8] = {};  ///< never read, and neither are the members called unused
  unsigned char unused[8] = {};
  std::uint64_t size = 0;     ///< of the memory; cut to the block
  std::uint32_t pages = 0;    ///< of the block; read when the block is opened anew
  std::uint32_t offset = 0;   ///< in the block, in bytes, of the memory to open
  unsigned char key[5] = {};  ///< read when the block is opened anew
  unsigned char unused2[3] = {};
  /// Identifies the block; a block that is open under this identity is not opened anew.
  unsigned char identity[8] = {};
  std::uint32_t process = 0;  ///< the process that owns the block
  std::int32_t fd = -1;       ///< that process's descriptor of the file
  unsigned char unused3[8] = {};

  static MemoryHandle of(const IpcBytes& bytes);
  IpcBytes bytes() const;
  /// Whether both name one block of one process.
  bool same_block(const MemoryHandle& other) const;
};
static_assert(sizeof(MemoryHandle) == sizeof(IpcBytes));

/// The handle for the memory that an issued ticket of kind kIpcMemory names, in a file of `block`
/// bytes.
IpcBytes memory_handle(const IpcBytes& ticket, std::uint64_t block);
/// Follows a handle as follow_ticket() follows a ticket: the file must hold a ticket from which the
/// bytes of the handle that an H200 reads were made.
Followed follow_handle(const MemoryHandle& handle, int device_count);

}  // namespace cuvmm::emulator
