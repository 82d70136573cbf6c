// The report of one process as JSON: the contract is in docs/report.md.
#pragma once

#include <atomic>
#include <string>

#include "shim/ledger.h"

namespace cuvmm::shim {

/// What the report says beside the findings. Strings are JSON already, so that writing allocates
/// nothing.
struct ReportContext {
  int pid = 0;
  std::string driver;     ///< {"path":...,"version":...,"emulated":...}
  std::string unchecked;  ///< a JSON array of strings
  std::string ipc;        ///< a JSON array, "" where legacy IPC was not used
  std::uint64_t counts[static_cast<std::size_t>(EntryPoint::kCount)] = {};
  std::uint64_t alive_allocations = 0, alive_bytes = 0, alive_reservations = 0;
  const char* ended = "exit";  ///< "exit", "signal", or "running" for a report that is not the last
};

/// The members of a finding without "count" and the braces.
std::string finding_members(const Entry& entry);

/// Writes the document to `path` whole or not at all: into a file beside it, which is then renamed.
/// An empty process that finds a report there leaves it (`keep_existing`). Async-signal-safe.
/// Returns 0 or an errno.
int write_report(const char* path, const ReportContext& context, const Ledger& ledger,
                 bool keep_existing) noexcept;

}  // namespace cuvmm::shim
