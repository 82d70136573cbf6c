// SPDX-License-Identifier: Apache-2.0
#include "api/calls.h"

#include <iterator>

namespace cuvmm {

namespace {
struct EntryInfo {
  const char* name;
  bool intercepted;
};
constexpr EntryInfo kEntries[] = {
#define CUVMM_ENTRY(Name, area, ...) {"cu" #Name, true},
#define CUVMM_BASE(Name, ...) {"cu" #Name, false},
#include "api/entry_points.def"
};
static_assert(std::size(kEntries) == static_cast<std::size_t>(EntryPoint::kCount));
}  // namespace

const char* name(EntryPoint entry) {
  return entry < EntryPoint::kCount ? kEntries[static_cast<std::size_t>(entry)].name : "?";
}

bool intercepted(EntryPoint entry) {
  return entry < EntryPoint::kCount && kEntries[static_cast<std::size_t>(entry)].intercepted;
}

}  // namespace cuvmm
