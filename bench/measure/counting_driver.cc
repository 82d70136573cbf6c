// SPDX-License-Identifier: Apache-2.0
// libcuvmm-counting.so: stands in front of the libcuda in CUVMM_DRIVER, counts its calls, and does
// nothing else. The time that it adds is the floor for any layer that a program's calls pass.
#include <cstdlib>

#include "api/default_stream.h"
#include "api/driver/driver.h"
#include "api/for_each.h"

namespace cuvmm::bench {
namespace {

Driver g_below;
/// The calls of this thread.
[[gnu::tls_model("initial-exec")]] thread_local std::uint64_t t_calls = 0;

[[gnu::constructor]] void open_below() {
  const char* const path = std::getenv("CUVMM_DRIVER");
  g_below = load_driver(path ? path : "").driver;
}

template <class CallStruct>
CUresult run(const CallStruct& call) {
  t_calls = t_calls + 1;
  return g_below(call);
}

template <class CallStruct>
CUresult run_per_thread(const CallStruct& call) {
  return run(call);
}

}  // namespace

#include "api/symbols/export_entries.def"

}  // namespace cuvmm::bench
