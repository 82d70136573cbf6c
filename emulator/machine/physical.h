// SPDX-License-Identifier: Apache-2.0
// Physical memory of the emulated machine: host memory that is created once it is touched or
// exported.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "emulator/base/descriptor.h"
#include "emulator/machine/ticket.h"
#include "emulator/machine/touched.h"
#include "emulator/machine/written.h"

namespace cuvmm::emulator {

/// One allocation of physical memory. Costs no system call until touch() or descriptor(). Counts
/// against `account` (bytes in use of a device, may be null) while it lives. Zero-filled at first.
class Physical {
 public:
  /// `shared` memory is a memfd from the start, unless the process cannot have one; other memory
  /// becomes a memfd at the first descriptor().
  Physical(std::uint64_t size, const CUmemAllocationProp& prop, bool shared, std::uint64_t charge,
           std::uint64_t* account);
  /// Memory of an imported descriptor, which this object takes over; the caller gives its size and
  /// properties to describe().
  explicit Physical(int fd);
  Physical(Physical&& other) noexcept;
  Physical& operator=(Physical&&) = delete;
  ~Physical();

  /// The bytes of the whole memory, of which the caller reads and writes [offset, offset + size);
  /// null when the host has no memory left, or when the program closed the descriptor of memory
  /// that this process never touched.
  char* touch(std::uint64_t offset, std::uint64_t size);
  /// From here on new memory of devices has a written() that knows its bytes.
  static void follow_writes();
  /// The bytes that were ever written, as far as this process can tell.
  Written& written() { return written_; }

  /// Fills the first bytes, up to 16 MiB, with unexpected values, because no document promises that
  /// new memory is zero.
  void poison();
  /// The memfd behind the memory, with the trailer of emulator/machine/shareable.h; -1 on failure,
  /// as after the program closed it. Not a copy.
  int descriptor();
  /// A new descriptor of the memfd, to be given to the program; -1 on failure.
  int export_descriptor();
  /// The 64 bytes by which other processes find the memory while this object lives; nothing on
  /// failure.
  std::optional<IpcBytes> fabric_handle();
  /// Ends those bytes, for an object that stays because held_elsewhere().
  void withdraw();
  /// Whether any process still has a descriptor of export_descriptor(), a copy of it, or a mapping
  /// made through it, or imported the memory by its fabric handle.
  bool held_elsewhere();
  /// Whether another process may have the memory: it was exported or imported.
  bool may_be_elsewhere() const { return exported_ || imported_; }
  /// Moves the bytes to `at`, over the mapping there, where the CPU and touch() reach them; false
  /// on failure. Called before any other function but touch() and poison(); the owner of the
  /// address range seals it afterwards.
  bool place_at(std::uint64_t at);
  /// Maps the first `size` bytes at `at`, over the mapping there, with these PROT_* flags; false on
  /// failure.
  bool map_at(std::uint64_t at, std::uint64_t size, int protection);

  /// Sets the size and properties of an imported descriptor, before any other call.
  void describe(std::uint64_t size, const CUmemAllocationProp& prop);

  std::uint64_t size() const { return size_; }
  const CUmemAllocationProp& prop() const { return prop_; }
  /// Unique among all physical allocations of this process.
  std::uint64_t id() const { return id_; }

 private:
  /// As descriptor(), for this object alone.
  int own_descriptor();
  /// The new descriptor; -1 on failure.
  int create_descriptor();
  bool move_into(int fd);
  /// Gives up where its bytes were so far.
  void let_go(char* bytes);

  std::uint64_t size_ = 0;
  CUmemAllocationProp prop_{};
  bool shared_ = true;
  Descriptor file_;
  char* bytes_ = nullptr;
  bool exported_ = false;
  std::unique_ptr<IpcBytes> fabric_handle_;  ///< null: not exported so
  bool imported_ = false;
  bool placed_ = false;  ///< bytes_ lies in an address range that another object owns
  /// Spans touched before the memory became a memfd; all other bytes are still zero.
  Touched touched_;
  Written written_;
  std::uint64_t id_;
  std::uint64_t charge_ = 0;
  std::uint64_t* account_ = nullptr;
};

}  // namespace cuvmm::emulator
