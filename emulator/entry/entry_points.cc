// SPDX-License-Identifier: Apache-2.0
// Exports every symbol of api/entry_points.def: a function per entry point, and its other names as
// aliases.
#include "api/default_stream.h"
#include "api/for_each.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/log.h"
#include "emulator/entry/entry.h"
#include "emulator/graph/capture_gate.h"
#include "emulator/stream/late_gate.h"
#include "emulator/transfer/batch_copy.h"
#include "emulator/transfer/transfer_entry.h"

namespace cuvmm::emulator {

namespace {

template <class CallStruct>
CUresult answer(const CallStruct& call) noexcept {
  if (!Queues::plain()) {
    if (const auto answer = before_call(call)) return *answer;
  }
  if (Captures::any()) {
    if (const auto answer = in_capture(call)) return *answer;
  }
  if constexpr (requires { run_base(call); }) {
    return run_base(call);
  } else if constexpr (requires(Emulator & e, Facts f, Retired r) { perform(e, call, f, r); }) {
    return run_entry(call);
  } else if constexpr (requires(Emulator & e) { run_batch(e, call); }) {
    return locked([&](Emulator& e) { return run_batch(e, call); });
  } else {
    return locked([&](Emulator& e) { return run_transfer(e, call); });
  }
}

template <class CallStruct>
CUresult run(const CallStruct& call) noexcept {
  return logged(name(CallStruct::kEntryPoint), answer(call));
}

// Runs a call under a name for which NULL is the calling thread's own stream.
template <class CallStruct>
CUresult run_per_thread(const CallStruct& call) noexcept {
  per_thread_default() = true;
  const CUresult result = run(call);
  per_thread_default() = false;
  return result;
}

}  // namespace

#include "api/symbols/export_entries.def"

}  // namespace cuvmm::emulator
