// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text/work_notes.h"

#include <fmt/core.h>

namespace cuvmm::tools {

namespace {

// The sum of a member of `work` over all processes.
std::uint64_t work_sum(const std::vector<ProcessReport>& reports, const char* member) {
  std::uint64_t sum = 0;
  for (const ProcessReport& report : reports) {
    const auto work = report.value.find("work");
    if (work != report.value.end()) {
      sum = saturating_sum(sum, work->value(member, std::uint64_t{0}));
    }
  }
  return sum;
}

// The first process's sentence about such a use; "" if no process has one.
std::string first_use(const std::vector<ProcessReport>& reports, const char* member) {
  for (const ProcessReport& report : reports) {
    if (const auto found = report.value.find(member); found != report.value.end())
      return "The first: " + found->get<std::string>() + ". ";
  }
  return "";
}

}  // namespace

std::vector<std::string> work_notes(const std::vector<ProcessReport>& reports, bool eager) {
  std::vector<std::string> notes;
  if (const std::uint64_t unawaited = eager ? work_sum(reports, "unawaited") : 0; unawaited > 0) {
    notes.push_back(
        fmt::format("{} of memory went well only because the emulator does work at once: nothing "
                    "waited for the work, and a GPU does it later. {}To see that, add "
                    "--streams=late",
                    unawaited == 1 ? "1 use" : std::to_string(unawaited) + " uses",
                    first_use(reports, "unawaited_use")));
  }
  if (const std::uint64_t perhaps = eager ? work_sum(reports, "perhaps_unawaited") : 0;
      perhaps > 0) {
    notes.push_back(fmt::format(
        "{} of memory may have gone well only because the emulator copies at once: the memory ends "
        "while a copy to page-locked memory may still use it on a GPU. {}The order is right only "
        "if "
        "the program saw the copied bytes arrive before. To see that, add --streams=late",
        perhaps == 1 ? "1 use" : std::to_string(perhaps) + " uses",
        first_use(reports, "perhaps_unawaited_use")));
  }
  if (const std::uint64_t hints = work_sum(reports, "hints"); hints > 0) {
    notes.push_back(
        fmt::format("{} inside of the structs that kernels were given: an address of memory that "
                    "was taken away, "
                    "and nothing had waited for the kernel. Nobody tells whether such a word is a "
                    "pointer, so it "
                    "is no finding",
                    hints == 1 ? "1 word" : std::to_string(hints) + " words"));
  }
  return notes;
}

}  // namespace cuvmm::tools
