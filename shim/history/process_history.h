// SPDX-License-Identifier: Apache-2.0
// The facts that a session has learned of its process. Every reader and writer holds the session's
// lock.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "rulebook/model/model.h"
#include "shim/facts/descriptor.h"
#include "shim/history/causes.h"
#include "shim/history/ipc_log.h"

namespace cuvmm::shim {

/// A descriptor that this process received.
struct Received {
  Export one;  ///< its handle is the import's; 0 for a dma-buf
  bool dma_buf = false;
  Address base = 0;             ///< for a dma-buf: the address at which its memory begins
  Origin memory;                ///< for a dma-buf: the call that made its memory
  DescriptorIdentity identity;  ///< for a dma-buf
};

struct ProcessHistory {
  /// The last call that ended memory of cuMemAlloc at a place where a reservation may have been
  /// before: violations there may have this cause now.
  std::uint64_t plain_ended = 0;
  Model model;
  std::unordered_map<int, DescriptorIdentity> exported;
  IpcLog ipc_log;
  Causes causes;
  std::unordered_map<std::uint64_t, std::string> imported;  ///< names of imported memory, by handle
  /// Descriptors of other processes' memory that this process imported from, and of dma-bufs of
  /// ranges: they belong to the program, and keep the memory alive as well.
  std::unordered_map<int, Received> received;
  /// Descriptors of pools that this process exported; their handle is the pool's.
  std::unordered_map<int, Export> exported_pools;

  /// Whether a descriptor is still open and still stands for the exported memory.
  bool still_exported(const Export& one) const;
  /// Whether a descriptor stands for an allocation that this process exported.
  bool exports_allocation(int fd) const;
  /// Bytes of the allocation behind a descriptor that this process exported; 0 unknown.
  std::uint64_t exported_size(int fd) const;

  /// Whether the dma-buf is still open under its number.
  bool still_open(const Received& dma_buf) const;
  /// Adds the dma-bufs that are open although their memory was freed.
  void add_left_dma_bufs(Violations& leaks) const;

  /// The program closed the descriptor, or the number stands for another file now.
  void forget_descriptor(int fd);
  /// The program closes the descriptor now. Returns whether the number is to be followed until it
  /// is closed again.
  bool end_descriptor(int fd, bool open, const Origin& at);
  /// `to` stands for the file of `from`; false if the model does not know that file.
  bool duplicate(int from, int to, const Origin& at);

  /// Called in a child of fork, which starts with no facts.
  void clear();
  /// clear() for data that may be half changed: its nodes may point anywhere, so they are
  /// abandoned.
  void abandon();
};

}  // namespace cuvmm::shim
