// SPDX-License-Identifier: Apache-2.0
// Refused calls of functions that cuvmm does not check: from the journal into the report.
#include <pthread.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "api/posix/cancel_off.h"
#include "shim/base/runtime_call.h"
#include "shim/findings/refusal_text.h"
#include "shim/process/process.h"
#include "shim/refusals/arguments/described.h"
#include "shim/refusals/surroundings.h"

namespace cuvmm::shim {

namespace {

std::atomic<int> g_status{0};

bool loses_capture(Rule rule) {
  constexpr Rule kThese[] = {Rule::kStreamCapture, Rule::kStreamCaptureLegacy,
                             Rule::kStreamCaptureWait, Rule::kStreamCaptureEvent,
                             Rule::kStreamCaptureNode};
  return std::ranges::find(kThese, rule) != std::end(kThese);
}

// A finding about the call says more. Two kinds have one: calls with checks of their own, such as
// launches, and the call that lost a capture.
bool has_finding(const Ledger& ledger, const UncheckedRefusal& refusal) {
  for (const Entry* entry = ledger.first(); entry; entry = entry->next.load()) {
    const Finding& finding = entry->finding;
    const bool lost = loses_capture(finding.violation.rule);
    if (lost && refusal.result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) return true;
    if (!finding.answer || finding.answer->result != refusal.result) continue;
    // The finding about a function without an entry point names the function in its message.
    const std::string& message = finding.violation.message;
    const bool same =
        finding.entry != EntryPoint::kCount
            ? refusal.function.starts_with(name(finding.entry))
            : is_same_function(message.substr(0, message.find(':')), refusal.function);
    if (same) return true;
  }
  return false;
}

bool has_finding(const Ledger& ledger, Rule rule) {
  for (const Entry* entry = ledger.first(); entry; entry = entry->next.load()) {
    if (entry->finding.violation.rule == rule) return true;
  }
  return false;
}

// Libraries ask such questions to learn whether the program uses CUDA at all.
bool asks_for_use(std::string_view function) {
  return function.starts_with("cuCtxGet") || function.starts_with("cuPointerGet") ||
         function.starts_with("cuDevicePrimaryCtxGetState");
}

}  // namespace

// Whether no earlier refused call of a child of fork came from the stack. Knows a few stacks: the
// first call may be a question, and a later one the work that the program wanted.
bool Process::is_new_in_child(StackId stack) noexcept {
  for (std::atomic<StackId>& place : refused_in_child_) {
    StackId known = 0;
    if (place.compare_exchange_strong(known, stack)) return true;
    if (known == stack) return false;
  }
  return false;
}

// The report is written at such a call, because many such children are killed by their parent. The
// refusal stays quiet until the process ends with an error; if only the program does, or if the
// call was to do work, `cuvmm run` prints it.
void Process::note_not_initialized(const char* function, const Caller& caller) noexcept {
  Session* const open = session_if_open();
  if (!open || open->off()) return;
  const int saved = errno;
  const CancelOff no_cancel;
  const RuntimeCall* const runtime = runtime_call();
  const Caller& from = runtime ? runtime->caller : caller;
  if (open->forked_from() == 0) {
    if (!asks_for_use(function))
      journal_.add(function, CUDA_ERROR_NOT_INITIALIZED, {}, ::pthread_self(), from);
  } else {
    forked_refused_.store(true);
    try {
      Refusal refusal;
      refusal.stack = capture_stack(from);
      if (!is_new_in_child(refusal.stack)) return void(errno = saved);
      refusal.unchecked = function;
      refusal.result = CUDA_ERROR_NOT_INITIALIZED;
      refusal.forked_from = open->forked_from();
      refusal.asides.push_back({forked_text(refusal.forked_from)});
      refusal.asides.push_back({std::string("Fix: ") + kForkedFix});
      ledger_->take_unchecked(std::move(refusal), 1, true);
      if (own_report_.chosen() && !g_ending.begun()) write_json("running");
    } catch (...) {
      // Out of memory: the report lacks the refusal.
    }
  }
  errno = saved;
}

void Process::keep_journal(const RealDriver& driver) noexcept {
  using Register = CUresult(void (*)(void*, int, char*, std::size_t), void*, void**);
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) {
    ::on_exit([](int status, void*) { g_status.store(status); }, nullptr);
  }
  // Exists since CUDA 12.9; an older driver reports nothing.
  auto* const listen = reinterpret_cast<Register*>(driver.find("cuLogsRegisterCallback"));
  void* callback = nullptr;
  if (listen) listen(&Journal::hear, &journal_, &callback);
}

void Process::note_status(int status) noexcept { g_status.store(status); }

bool Process::ended_well() const {
  return g_status.load() == 0 && !ledger_->totals().any() &&
         refusals_text(ledger_->refusals().first()).empty();
}

void Process::read_journal(bool well) {
  Session* const open = session_if_open();
  if (!well && !has_finding(*ledger_, Rule::kDriverInitialized)) ledger_->show_forked();
  const Origin context_end = open ? open->context_end() : Origin();
  for (UncheckedRefusal& each : journal_.take()) {
    const bool uninitialized = each.result == CUDA_ERROR_NOT_INITIALIZED;
    if (uninitialized && !never_initialized()) continue;  // a probe before the first cuInit
    if (has_finding(*ledger_, each)) continue;
    Refusal refusal;
    refusal.unchecked = std::move(each.function);
    refusal.result = each.result;
    refusal.stack = each.stack;
    refusal.in_driver = each.in_driver;
    refusal.driver_message = std::move(each.sentence);
    DescribedRefusals::Description known = described_refusals().of(refusal.unchecked, each.result);
    refusal.given = std::move(known.arguments);
    for (std::string& reason : known.reasons) {
      refusal.asides.push_back({"the likely reason: " + std::move(reason)});
    }
    for (std::string_view rest = each.known; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      refusal.asides.push_back({std::string(line)});
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    if (uninitialized) refusal.asides.push_back({uninitialized_text()});
    // The context may have ended behind the call: another reason is better.
    const bool explained = !refusal.asides.empty();
    add_surroundings(each.result, explained ? Origin() : context_end, refusal.asides);
    ledger_->take_unchecked(std::move(refusal), each.count, well && !may_be_hidden(each.result));
  }
}

}  // namespace cuvmm::shim
