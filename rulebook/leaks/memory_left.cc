// SPDX-License-Identifier: Apache-2.0
#include "rulebook/leaks/memory_left.h"

#include <string>

#include "rulebook/check/check_support.h"

namespace cuvmm {

using namespace detail;

namespace {

void add(Collector& out, const std::string& what, const ObjectRef& object) {
  out.add(Rule::kMemoryLeft, what + " is still there").objects.push_back(object);
}

std::string at(std::uint64_t base, std::uint64_t size) {
  return " at " + hex_text(base) + " (" + size_text(size) + ")";
}

}  // namespace

Violations memory_left(const Model& model) {
  Collector out;
  for (const auto& [base, m] : model.memory().all()) {
    add(out, std::string(words(m.kind)) + at(base, m.size), ref(m));
  }
  for (const auto& [base, m] : model.pools().memory()) {
    const char* const what = m.imported ? "imported memory of a pool" : "memory of a pool";
    add(out, what + at(base, m.size), ref(m));
  }
  for (const auto& [handle, a] : model.arrays().all()) {
    const char* const what = a.mipmapped ? "the mipmapped array " : "the array ";
    const bool own = a.parent == 0 && a.external == 0;
    if (own) add(out, what + hex_text(handle), ref(a));
  }
  return out.take();
}

}  // namespace cuvmm
