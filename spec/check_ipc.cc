// cuIpc*: legacy inter-process handles of memory and events.
#include "spec/check_support.h"

namespace cuvmm {
using namespace detail;

Violations check(const Model&, const calls::IpcGetMemHandle&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::IpcOpenMemHandle&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::IpcCloseMemHandle&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::IpcGetEventHandle&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::IpcOpenEventHandle&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

}  // namespace cuvmm
