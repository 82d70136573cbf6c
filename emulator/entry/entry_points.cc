// SPDX-License-Identifier: Apache-2.0
// Exports every symbol of api/entry_points.def: one function per entry point, and its other names
// as aliases (per-thread default streams make no difference where all work completes at once).
#include "api/for_each.h"
#include "emulator/context/capture_gate.h"
#include "emulator/entry/base.h"
#include "emulator/entry/entry.h"
#include "emulator/transfer/batch_copy.h"
#include "emulator/transfer/transfer_entry.h"

namespace cuvmm::emulator {

namespace {

template <class CallStruct>
CUresult run(const CallStruct& call) noexcept {
  if (Captures::any()) {
    if (const auto answer = in_capture(call)) return *answer;
  }
  if constexpr (requires { run_base(call); }) {
    return run_base(call);
  } else if constexpr (requires(Emulator & e, Facts f, Retired r) { perform(e, call, f, r); }) {
    return run_entry(call);
#if CUDA_VERSION >= 13000
  } else if constexpr (std::is_same_v<CallStruct, calls::MemcpyBatchAsync>) {
    return run_batch(call);
#endif
  } else {
    return locked([&](Emulator& e) { return run_transfer(e, call); });
  }
}

}  // namespace

#include "api/symbols/export_entries.def"

}  // namespace cuvmm::emulator
