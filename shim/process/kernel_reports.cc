// SPDX-License-Identifier: Apache-2.0
#include "shim/process/kernel_reports.h"

#include "api/posix/cancel_off.h"
#include "rulebook/kernel/check_kernel.h"
#include "shim/base/runtime_call.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

namespace {
thread_local std::uint64_t t_seen = 0;  // the thread's last launch that is noted
}

void KernelReports::after(EntryPoint entry, const Caller& caller) noexcept {
  if (in_flight()) return;  // a call of the driver's own
  const CancelOff no_cancel;
  const int saved = errno;
  try {
    Launch here{.entry = entry, .origin = {}};
    const std::uint64_t number = last_();
    const bool launched = number != t_seen;
    if (launched) {
      constexpr std::size_t kMost = 65536;
      here.origin = {session_.next_number(), capture_stack(program_caller(caller)), t_state.thread};
      const Locked lock(mutex_);
      launches_[t_seen = number] = here;
      if (launches_.size() > kMost) launches_.erase(launches_.begin());
    } else {
      here.origin.stack = capture_stack(program_caller(caller));
    }
    take_all(here);
  } catch (...) {
    // Out of memory: a finding is lost.
  }
  errno = saved;
}

void KernelReports::rest() noexcept {
  try {
    take_all({});
  } catch (...) {
    // As above.
  }
}

void KernelReports::take_all(const Launch& here) {
  for (KernelReport report; take_(&report) != 0;) {
    Launch launch = here;
    {
      const Locked lock(mutex_);
      const auto found = launches_.find(report.launch);
      if (found != launches_.end()) launch = found->second;
    }
    Finding finding;
    finding.violation =
        session_.with_model([&](const Model& model) { return kernel_violation(model, report); });
    finding.entry = launch.entry;
    finding.stack = launch.origin.stack;
    finding.call_index = launch.origin.call;
    finding.place = report.place;
    if (launch.entry != EntryPoint::kCount) finding.answer = Answer{};
    sink_.take(std::move(finding));
  }
}

}  // namespace cuvmm::shim
