// SPDX-License-Identifier: Apache-2.0
// Physical memory of the emulated machine: host memory that exists once it is touched or exported.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "emulator/base/descriptor.h"
#include "emulator/machine/touched.h"

namespace cuvmm::emulator {

/// One allocation of physical memory. Costs no system call until touch() or descriptor(). Counts
/// against `account` (bytes in use of a device, may be null) while it lives. Zero-filled at first.
class Physical {
 public:
  /// `shared` memory is a memfd from the start where the process may have one; other memory becomes
  /// one if a descriptor is asked for.
  Physical(std::uint64_t size, const CUmemAllocationProp& prop, bool shared, std::uint64_t charge,
           std::uint64_t* account);
  /// Memory of an imported descriptor, which this takes over; describe() says what it is.
  explicit Physical(int fd);
  Physical(Physical&& other) noexcept;
  Physical& operator=(Physical&&) = delete;
  ~Physical();

  /// Its bytes, of which those of [offset, offset + size) are read and written; null when the host
  /// has no memory left, or the program closed the descriptor of memory that nobody here touched.
  char* touch(std::uint64_t offset, std::uint64_t size);
  /// Fills its beginning, up to 16 MiB, with what nobody expects: new memory is not zero by any
  /// promise.
  void poison();
  /// The memfd behind it, with the trailer of emulator/machine/shareable.h; -1 on failure, as after
  /// the program closed it. Not a copy.
  int descriptor();
  /// A new descriptor of its memfd for somebody else; -1 on failure.
  int export_descriptor();
  /// Whether a descriptor of export_descriptor(), or a copy of one, or what was mapped through it,
  /// is still there, in any process.
  bool held_elsewhere();
  /// Keeps its bytes at `at`, over what is there, where the CPU and touch() reach them; false on
  /// failure. Before anything but touch() and poison() is asked of it; whoever owns the place seals
  /// it afterwards.
  bool place_at(std::uint64_t at);
  /// Maps its first `size` bytes at `at`, over what is there, with these PROT_* flags; false on
  /// failure.
  bool map_at(std::uint64_t at, std::uint64_t size, int protection);

  /// Says what an imported descriptor holds, before anything else is asked of it.
  void describe(std::uint64_t size, const CUmemAllocationProp& prop);

  std::uint64_t size() const { return size_; }
  const CUmemAllocationProp& prop() const { return prop_; }
  /// Unique among all physical allocations of this process.
  std::uint64_t id() const { return id_; }

 private:
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
  bool placed_ = false;  ///< bytes_ is where somebody else's address space is
  Touched touched_;      ///< before it was shared; all else is still zero
  std::uint64_t id_;
  std::uint64_t charge_ = 0;
  std::uint64_t* account_ = nullptr;
};

}  // namespace cuvmm::emulator
