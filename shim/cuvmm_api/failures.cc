// SPDX-License-Identifier: Apache-2.0
#include "shim/cuvmm_api/failures.h"

#include <memory>
#include <utility>

#include "include/cuvmm/cuvmm.h"
#include "shim/base/call_hooks.h"
#include "shim/fail/injector.h"
#include "shim/output/output.h"

namespace cuvmm::shim::client {

namespace {

// The injector of this process. Never destroyed, because threads that outlive main() make calls.
Injector& injector() {
  if (Injector* const known = g_hooks.injector.load(std::memory_order_acquire)) return *known;
  auto mine = std::make_unique<Injector>(injected_failures::Spec{}, "");
  Injector* first = nullptr;
  if (!g_hooks.injector.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel)) {
    return *first;
  }
  return *mine.release();
}

}  // namespace

long begin_failures(const char* spec) {
  injected_failures::Spec wanted;
  if (spec && *spec) wanted = injected_failures::parse_spec(spec);
  if (wanted.error) {
    say("cuvmm_fail(\"" + std::string(spec) + "\"), column " +
        std::to_string(wanted.error->column) + ": " + wanted.error->message);
    return CUVMM_ERROR_ARGUMENT;
  }
  return injector().arms().open(std::move(wanted));
}

long end_failures(long token) {
  const auto failures = injector().arms().close(token);
  return failures ? static_cast<long>(*failures) : CUVMM_ERROR_TOKEN;
}

std::optional<std::string> report_of_failures(long token) {
  return injector().arms().report(token);
}

}  // namespace cuvmm::shim::client
