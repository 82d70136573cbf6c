// SPDX-License-Identifier: Apache-2.0
// The state that the processes of a multicast object share: a memfd with the object's team and its
// bindings.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/base/descriptor.h"
#include "emulator/machine/shareable.h"

namespace cuvmm::emulator {

/// The kind of object that a team belongs to. The file contains it too, so that no kind passes for
/// another.
enum class TeamKind : std::uint32_t { kMulticast, kUnicastEndpoint, kMulticastEndpoint };

/// One process's view of a multicast object, or of a logical endpoint. Its functions take and give
/// the numbers that devices have in this process; the file has the machine's. The class trusts
/// nothing that other processes write: it reads sizes and devices once and checks them, and checks
/// the rest at each use. No locks are shared, so that a process that dies or lies stops no other.
/// Not thread-safe, except wait() and complete().
class Team {
 public:
  /// A new object of `size` bytes for `devices` devices; null when the host has no memory left.
  static std::shared_ptr<Team> create(unsigned devices, std::uint64_t size,
                                      TeamKind kind = TeamKind::kMulticast);
  /// The object behind a descriptor, of which the object holds a copy; null when the descriptor is
  /// no team, or one of a host that does not count. `machine`: the number of devices of the
  /// machine.
  static std::shared_ptr<Team> open(int fd, int machine, Hosts hosts = Hosts::kOwn);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  TeamKind kind() const { return kind_; }
  unsigned devices() const { return devices_; }
  std::uint64_t size() const { return size_; }
  /// The memfd, -1 when the program closed it; not a copy.
  int descriptor() const { return file_.get(); }

  /// The devices that any process added.
  struct Members {
    std::uint64_t visible = 0;  ///< mask of those that this process sees
    unsigned hidden = 0;        ///< how many it does not see
  };
  Members members() const;
  bool complete() const;
  /// False when the device is a member already, or when the team is complete.
  bool add(int device);
  /// Waits until the team is complete, `timeout` at most.
  void wait(std::chrono::milliseconds timeout) const;

  /// A piece of memory: the memfd of an allocation, and where in it the piece starts.
  struct Memory {
    int fd = -1;
    std::uint64_t offset = 0;
    std::uint64_t behind = 0;  ///< bytes after the binding that no other binding may take
  };
  /// Binds [offset, offset + size) for the device `own`. INVALID_VALUE when a byte of it is bound
  /// for that device already, OUT_OF_MEMORY when the object has no free entry for another binding.
  CUresult bind(int own, std::uint64_t offset, std::uint64_t size, const Memory& memory);
  /// How many bindings reserve bytes after them, because their memory begins in the middle of a
  /// granule.
  std::size_t unaligned() const;
  /// Ends a binding of this process; false when the device `own` has no binding at the offset.
  bool unbind(int own, std::uint64_t offset);

  /// Why [offset, offset + size) cannot be written: not every device has every byte bound. Empty
  /// when it can.
  std::string unwritable(std::uint64_t offset, std::uint64_t size) const;
  /// Writes to the memory of every device; false when a binding ended meanwhile.
  bool write(std::uint64_t offset, const char* bytes, std::uint64_t size) const;
  /// Reads the memory of the first device (a unicast endpoint has only one); false when a binding
  /// ended meanwhile.
  bool read(std::uint64_t offset, char* bytes, std::uint64_t size) const;

 private:
  /// Mask of the devices that any process added, by their numbers in the machine.
  std::uint64_t added() const;
  struct Shared;
  struct Entry;
  /// The contents of one entry, copied and checked.
  struct Binding {
    std::uint64_t state = 0;
    int process = 0;
    int device = 0;
    std::uint64_t offset = 0, size = 0, memory_offset = 0, inode = 0, behind = 0;
    int fd = -1;
  };
  struct Piece;

  Team(Descriptor file, Shared* shared, TeamKind kind, unsigned devices, std::uint64_t size,
       int machine);
  /// The entries that may hold a binding.
  std::span<Entry> used() const;
  bool read(const Entry& entry, Binding& out) const;
  /// Opens the binding's memory for writing; -1 when its process or the memory no longer exists.
  static int open_memory(const Binding& binding);
  /// Splits a range into its parts by device. Returns the reason when a byte is bound nowhere, else
  /// an empty text.
  std::string pieces(std::uint64_t offset, std::uint64_t size, std::vector<Piece>& out) const;

  Descriptor file_;
  Shared* shared_;
  TeamKind kind_;
  unsigned devices_;
  std::uint64_t size_;
  std::uint64_t machine_mask_;
};

}  // namespace cuvmm::emulator
