// SPDX-License-Identifier: Apache-2.0
#include "emulator/memory/arrays.h"

#include <utility>

namespace cuvmm::emulator {

CUarray Arrays::add(Array&& array) {
  constexpr std::uintptr_t kStep = 0x100;
  const auto handle = reinterpret_cast<CUarray>(last_ += kStep);
  arrays_.emplace(handle, std::move(array));
  return handle;
}

const Array* Arrays::find(CUarray handle) const {
  const auto found = arrays_.find(handle);
  return found == arrays_.end() ? nullptr : &found->second;
}

void Arrays::end_those_of(const Context& context) {
  std::erase_if(arrays_, [&](const auto& entry) { return entry.second.context == &context; });
}

}  // namespace cuvmm::emulator
