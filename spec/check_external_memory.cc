// cuImportExternalMemory and what is mapped of it.
#include "spec/check_support.h"

namespace cuvmm {
using namespace detail;

Violations check(const Model&, const calls::ImportExternalMemory&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::ExternalMemoryGetMappedBuffer&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::ExternalMemoryGetMappedMipmappedArray&,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::DestroyExternalMemory&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

}  // namespace cuvmm
