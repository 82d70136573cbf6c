// SPDX-License-Identifier: Apache-2.0
// The file that a process's report goes to, reachable to the end: after a chroot, after privileges
// were dropped, without a free descriptor.
#pragma once

#include <string>

#include "shim/output/kept_descriptor.h"

namespace cuvmm::shim {

struct ReportContext;
class Ledger;

class ReportFile {
 public:
  /// `path` is absolute, "" for no report. Keeps a descriptor of its folder. `appends`: where the
  /// file cannot be replaced, a further document goes behind the one in it (docs/report.md).
  void choose(std::string path, bool appends);
  bool chosen() const { return !path_.empty(); }
  const std::string& path() const { return path_; }

  /// Writes the document whole or not at all: into a file beside it, which is then renamed. An
  /// empty process that finds a report there leaves it (`keep_existing`). Returns 0 or an errno.
  /// Async-signal-safe; no cancellation point.
  int write(const ReportContext& context, const Ledger& ledger, bool keep_existing) noexcept;

 private:
  int replace(const ReportContext& context, const Ledger& ledger) noexcept;
  int append(const ReportContext& context, const Ledger& ledger) noexcept;
  int open_folder() const noexcept;
  const char* name_in(int folder) const noexcept;

  std::string path_;  ///< without symbolic links, as far as it exists
  std::size_t name_ = 0;
  bool appends_ = false;
  bool made_ = false;  ///< a first document lies there
  KeptDescriptor folder_, file_;
};

}  // namespace cuvmm::shim
