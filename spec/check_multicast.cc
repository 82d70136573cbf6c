// cuMulticast*: a team of devices, memory bound to it, and what is mapped of it.
#include "spec/check_support.h"

namespace cuvmm {
using namespace detail;

Violations check(const Model&, const calls::MulticastCreate&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MulticastAddDevice&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MulticastBindMem&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MulticastBindAddr&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MulticastBindMem_v2&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MulticastBindAddr_v2&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MulticastUnbind&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MulticastGetGranularity&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

}  // namespace cuvmm
