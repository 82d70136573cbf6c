// Stream-ordered pools: creation, export and import.
#include "spec/check_support.h"

namespace cuvmm {
using namespace detail;

Violations check(const Model&, const calls::MemPoolCreate&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MemPoolDestroy&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MemAllocFromPoolAsync&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MemPoolExportToShareableHandle&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MemPoolImportFromShareableHandle&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MemPoolExportPointer&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MemPoolImportPointer&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::MemPoolSetAccess&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

Violations check(const Model&, const calls::DeviceSetMemPool&, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  return out.take();
}

}  // namespace cuvmm
