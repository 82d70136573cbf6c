// SPDX-License-Identifier: Apache-2.0
// The report of one process as JSON: the contract is in docs/report.md.
#pragma once

#include <atomic>
#include <string>

#include "shim/findings/ledger.h"
#include "shim/queued_work/work_counts.h"

namespace cuvmm::shim {

/// The parts of the report besides the findings. Strings are JSON already, so that writing
/// allocates nothing.
struct ReportContext {
  int pid = 0;
  std::string driver;     ///< {"path":...,"version":...,"emulated":...}
  std::string unchecked;  ///< a JSON array of strings
  std::string escaped;    ///< a JSON array: paths of libcudas beside the shim, "" where none is
  std::string notes;      ///< a JSON array of sentences, "" where nothing is missing
  std::string unused;     ///< a JSON array: suppressions without use, "" none
  std::string ipc;        ///< a JSON array, "" where legacy IPC was not used
  std::string fault;      ///< an object, "" where none was seen
  std::string stacks;     ///< an object: stacks of the timeline by id; "" where none is kept
  std::uint64_t counts[static_cast<std::size_t>(EntryPoint::kCount)] = {};
  std::string in_use, ended_with_context;  ///< JSON arrays, "" if there are none
  bool in_use_listed = false;              ///< each of these was told
  std::uint64_t alive_allocations = 0, alive_bytes = 0, alive_reservations = 0;
  std::string undecided;       ///< a JSON array of numbers of calls, "" none (docs/report.md)
  bool leaks_judged = false;   ///< what the process leaks is among the findings
  std::uint64_t expected = 0;  ///< occurrences that the program has declared as expected
  WorkCounts work;
  const char* ended = "exit";  ///< "exit", "signal", or "running" for a report that is not the last
};

/// Writes the document to a descriptor. Returns 0 or an errno. Async-signal-safe; it is no
/// cancellation point.
int write_document(int fd, const ReportContext& context, const Ledger& ledger) noexcept;

}  // namespace cuvmm::shim
