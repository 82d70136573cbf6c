// cuMemMapArrayAsync: tiles of sparse arrays.
#include "spec/check_support.h"

namespace cuvmm {
using namespace detail;

Violations check(const Model&, const calls::MemMapArrayAsync&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

}  // namespace cuvmm
