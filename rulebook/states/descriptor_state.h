// SPDX-License-Identifier: Apache-2.0
// Descriptors that this process exported, and those that it gave away to the driver.
#pragma once

#include <unordered_map>

#include "api/calls.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// A descriptor of memory that the program closed.
struct ClosedDescriptor {
  Origin made;  ///< by the export, or received and given to this import
  Origin closed;
};

/// Knows a number until a call opens a descriptor that gets it: then whatever had it was closed.
class DescriptorState {
 public:
  const std::unordered_map<int, Export>& exports() const { return exports_; }
  /// Descriptors that a successful import made the driver's, and the import that did. The number
  /// may have been given to another file since, unseen.
  const std::unordered_map<int, Origin>& given() const { return given_; }

  /// Numbers that the program closed, until something of ours or another close() has them. What it
  /// opens elsewhere is not seen: such a number may be another file's by now.
  const std::unordered_map<int, ClosedDescriptor>& ended() const { return ended_; }

  /// The program closed it: the number means nothing any more.
  void closed(int fd) { opened(fd); }
  /// The same, with what there is to say if it does so again.
  void closed(int fd, const ClosedDescriptor& known) {
    opened(fd);
    ended_[fd] = known;
  }

  /// A descriptor as somebody else knew it.
  void restore(const Export& known) { exports_.insert_or_assign(known.fd, known); }

  // A call that succeeded opened a descriptor, or gave one away.
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
