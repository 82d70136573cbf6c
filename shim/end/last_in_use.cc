// SPDX-License-Identifier: Apache-2.0
// The objects that a process has not given back when it ends, and that are no leaks.
#include <chrono>

#include "recorder/holdings/in_use_text.h"
#include "shim/base/reserve.h"
#include "shim/objects/in_use.h"
#include "shim/process/process.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {
constexpr std::chrono::milliseconds kLockPatience{1000};
}  // namespace

void Process::find_in_use(bool exits) {
  Opened* const open = opened_.load();
  if (!open || options_.leak_check == LeakCheck::kNo || open->session.off()) return;
  in_use_ = open->session.in_use(kLockPatience, asleep_);
  const auto ended = open->session.with_model_within(kLockPatience, &ended_with_context);
  ended_with_context_ = ended.value_or(AllInUse());
  add_objects(in_use_, kLockPatience);
  leave_out_the_runtimes(in_use_);
  leave_out_the_runtimes(ended_with_context_);
  if (exits && lists_in_use()) {
    find_leaks_on_request();
  } else {
    leave_out_registered(ended_with_context_);
  }
}

// A process that a signal ended may have been about to free the objects, so they are no leaks.
void Process::find_leaks_on_request() {
  for (Violation& leak : leaks_on_request(in_use_, ended_with_context_)) {
    if (labels_.was_reported(leak)) continue;  // cuvmm_leaks() has reported it already
    Finding finding;
    finding.stack = leak.objects.front().made.stack;
    finding.violation = std::move(leak);
    ledger_->take(std::move(finding));
  }
}

// An interrupted thread does not list them, because another thread may be using the symbolizer.
bool Process::lists_in_use() const {
  return options_.leak_check == LeakCheck::kFull && t_state.care != Care::kAsInterrupted &&
         !(in_use_.empty() && ended_with_context_.empty());
}

std::string Process::in_use_listed() const {
  if (!lists_in_use()) return {};
  prepare_symbolizer();
  return places_text(in_use_, holdings::kInUse) +
         places_text(ended_with_context_, holdings::kEndedWithContext);
}

std::string Process::in_use_sentence() const {
  return holdings::in_use_sentence(sums_text(in_use_), sums_text(ended_with_context_),
                                   lists_in_use());
}

}  // namespace cuvmm::shim
