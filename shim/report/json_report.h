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
  std::string driver;           ///< {"path":...,"version":...,"emulated":...}
  std::string unchecked;        ///< a JSON array of strings
  std::string unchecked_calls;  ///< a JSON array of names of functions, "" none
  std::string escaped;  ///< a JSON array: paths of libcudas that were loaded beside the shim, ""
                        ///< if there are none
  std::string notes;    ///< a JSON array of sentences, "" if no part is missing
  std::string unused;   ///< a JSON array: suppressions that no finding matched, "" none
  std::string ipc;      ///< a JSON array, "" if the process did not use legacy IPC
  std::string fault;    ///< an object, "" if no fault came
  std::string stacks;   ///< an object: stacks of the timeline by id; "" if there is no timeline
  std::uint64_t counts[static_cast<std::size_t>(EntryPoint::kCount)] = {};
  std::string in_use, ended_with_context;  ///< JSON arrays, "" if there are none
  bool in_use_listed = false;              ///< the text output lists each of these
  std::uint64_t alive_allocations = 0, alive_bytes = 0, alive_reservations = 0;
  std::string undecided;       ///< a JSON array of numbers of calls, "" none (docs/report.md)
  bool leaks_judged = false;   ///< the process's leaks are among the findings
  std::uint64_t expected = 0;  ///< occurrences that the program has declared as expected
  WorkCounts work;
  std::string unawaited_use,
      perhaps_unawaited_use;          ///< sentences (shim/report/unawaited_text.h), "" none
  std::uint32_t ended_by_thread = 0;  ///< the thread whose own signal ended the process; 0: none
  const char* ended = "exit";  ///< "exit", "signal", or "running" for a report that is not the last
};

/// Writes the document to a descriptor. Returns 0 or an errno. Async-signal-safe; it is no
/// cancellation point.
int write_document(int fd, const ReportContext& context, const Ledger& ledger) noexcept;

}  // namespace cuvmm::shim
