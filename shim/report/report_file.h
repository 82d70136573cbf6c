// SPDX-License-Identifier: Apache-2.0
// The file of a process's report, which stays reachable to the end: after a chroot, after
// privileges were dropped, without a free descriptor.
#pragma once

#include <string>

#include "shim/output/private_descriptor.h"

namespace cuvmm::shim {

struct ReportContext;
class Ledger;

class ReportFile {
 public:
  /// `path` is absolute, "" for no report. Opens a descriptor of the path's folder. `appends`: if
  /// the file cannot be replaced, a further document is appended to it (docs/report.md).
  void choose(std::string path, bool appends);
  bool chosen() const { return !path_.empty(); }
  const std::string& path() const { return path_; }

  /// Writes the whole document or nothing: into a file beside the report, which is then renamed.
  /// With `keep_existing`, for a process without calls, leaves a report that exists already.
  /// Returns 0 or an errno. Async-signal-safe; it is no cancellation point.
  int write(const ReportContext& context, const Ledger& ledger, bool keep_existing) noexcept;

  /// Leaves a mark that the last report could not be written, because an earlier document in the
  /// file would look like the last one: an empty file beside it, whose name ends with kLostMark. If
  /// even that cannot be made, empties the report. Async-signal-safe.
  void mark_lost(bool lost) noexcept;

 private:
  int replace(const ReportContext& context, const Ledger& ledger) noexcept;
  int append(const ReportContext& context, const Ledger& ledger) noexcept;
  int open_folder() const noexcept;
  const char* name_in(int folder) const noexcept;

  std::string path_;  ///< without symbolic links, as far as it exists
  std::size_t name_ = 0;
  bool appends_ = false;
  bool made_ = false;  ///< the file contains a first document
  bool marked_ = false;
  PrivateDescriptor folder_, file_;
};

}  // namespace cuvmm::shim
