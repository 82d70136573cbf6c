// SPDX-License-Identifier: Apache-2.0
// Descriptors that this process exported, and descriptors that it handed over to the driver.
#pragma once

#include <unordered_map>

#include "api/calls.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// A descriptor of memory that the program closed.
struct ClosedDescriptor {
  Origin made;  ///< the export that made it, or the import that the program gave it to
  Origin closed;
};

/// Remembers a descriptor number until a call opens a descriptor with that number, because the old
/// descriptor must then have been closed.
class DescriptorState {
 public:
  const std::unordered_map<int, Export>& exports() const { return exports_; }
  /// Descriptors that a successful import handed over to the driver, with that import. The number
  /// may stand for another file by now, because cuvmm does not see every open.
  const std::unordered_map<int, Origin>& given() const { return given_; }

  /// Numbers that the program closed, until a call that cuvmm sees opens the number, or another
  /// close() names it. cuvmm does not see other opens, so such a number may be another file's by
  /// now.
  const std::unordered_map<int, ClosedDescriptor>& ended() const { return ended_; }

  /// The program closed the descriptor: its number means nothing any more.
  void closed(int fd) { opened(fd); }
  /// The same, and remembers `known` for the message about a second close().
  void closed(int fd, const ClosedDescriptor& known) {
    opened(fd);
    ended_[fd] = known;
  }

  /// Puts in a descriptor that another view of this process knew.
  void restore(const Export& known) { exports_.insert_or_assign(known.fd, known); }

  // A successful call opened a descriptor, or handed one over.
  void confirm(const calls::MemExportToShareableHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemGetHandleForAddressRange& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemPoolExportToShareableHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::ImportExternalMemory& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::ImportExternalSemaphore& call, const Facts& facts, Origin at,
               const Surroundings& around);

 private:
  void opened(int fd);
  void give_away(int fd, Origin at);

  std::unordered_map<int, Export> exports_;
  std::unordered_map<int, Origin> given_;
  std::unordered_map<int, ClosedDescriptor> ended_;
};

}  // namespace cuvmm
