// SPDX-License-Identifier: Apache-2.0
// What a session has learned of its process. Whoever reads or writes holds the session's lock.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "rulebook/model/model.h"
#include "shim/facts/descriptor.h"
#include "shim/history/causes.h"
#include "shim/history/ipc_log.h"

namespace cuvmm::shim {

/// A descriptor that came to this process.
struct Received {
  Export one;  ///< its handle is the import's; 0 for a dma-buf
  bool dma_buf = false;
  Address base = 0;             ///< of a dma-buf: where its memory begins
  Origin memory;                ///< of a dma-buf: who made that memory
  DescriptorIdentity identity;  ///< of a dma-buf
};

struct ProcessHistory {
  /// The last call that ended memory of cuMemAlloc where a reservation may have been before: what
  /// is wrong there has this reason now.
  std::uint64_t plain_ended = 0;
  Model model;
  std::unordered_map<int, DescriptorIdentity> exported;
  IpcLog ipc_log;
  Causes causes;
  std::unordered_map<std::uint64_t, std::string> imported;  ///< names of imported memory, by handle
  /// Descriptors of others' memory that this process imported from, and of ranges as dma-bufs: they
  /// are the program's, and keep the memory alive as well.
  std::unordered_map<int, Received> received;

  /// Whether a descriptor is still open and still the one that was exported.
  bool still_exported(const Export& one) const;
  /// Whether a descriptor stands for an allocation that this process exported.
  bool exports_allocation(int fd) const;
  /// Bytes of the allocation behind a descriptor that this process exported; 0 unknown.
  std::uint64_t exported_size(int fd) const;

  /// Whether the dma-buf is still open under its number.
  bool still_open(const Received& dma_buf) const;
  /// Adds the dma-bufs that are open although the memory that they were made of was freed.
  void add_left_dma_bufs(Violations& leaks) const;

  /// The program closed it, or the number stands for something else now.
  void forget_descriptor(int fd);
  /// The program closes it, now. Whether the number is to be followed until it is closed again.
  bool end_descriptor(int fd, bool open, const Origin& at);
  /// `to` stands for what `from` stands for; false where that is nothing of ours.
  bool duplicate(int from, int to, const Origin& at);

  /// A child of fork starts from nothing.
  void clear();
  /// The same where what is there may be half changed: its nodes may point anywhere, so they are
  /// left behind.
  void abandon();
};

}  // namespace cuvmm::shim
