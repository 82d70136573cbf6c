// SPDX-License-Identifier: Apache-2.0
// The functions that the innermost frames of stacks called.
#include <atomic>
#include <cstring>

#include "shim/stack/stacks.h"

namespace cuvmm::shim {

namespace {

// Zero pages until they are written.
constinit std::atomic<const char*> g_functions[kMostStacks + 1]{};
// Python and libffi call many functions from one place.
constexpr char kSeveral[] = "";

}  // namespace

void note_function(StackId id, const char* name) noexcept {
  if (id == 0 || id > kMostStacks) return;
  std::atomic<const char*>& noted = g_functions[id];
  const char* const known = noted.load(std::memory_order_relaxed);
  if (known == name || known == kSeveral) [[likely]]
    return;
  const bool same = known && std::strcmp(known, name) == 0;
  if (!same) noted.store(known ? kSeveral : name, std::memory_order_relaxed);
}

bool called_by_several(StackId id) noexcept {
  return id != 0 && id <= kMostStacks &&
         g_functions[id].load(std::memory_order_relaxed) == kSeveral;
}

const char* stack_function(StackId id) noexcept {
  if (id == 0 || id > kMostStacks) return "";
  const char* const name = g_functions[id].load(std::memory_order_relaxed);
  return name ? name : "";
}

}  // namespace cuvmm::shim
