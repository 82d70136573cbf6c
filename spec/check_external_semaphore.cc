// cuImportExternalSemaphore, signals and waits.
#include "spec/check_support.h"

namespace cuvmm {
using namespace detail;

Violations check(const Model&, const calls::ImportExternalSemaphore&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::SignalExternalSemaphoresAsync&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::WaitExternalSemaphoresAsync&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::DestroyExternalSemaphore&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

}  // namespace cuvmm
