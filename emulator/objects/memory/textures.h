// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: the descriptions that a program made them with.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>

namespace cuvmm::emulator {

struct Texture {
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC sampling{};
  CUDA_RESOURCE_VIEW_DESC view{};
};

/// The objects of one kind; the caller holds the emulator's lock.
template <class Value>
class Numbered {
 public:
  std::uint64_t add(const Value& value) {
    values_.emplace(++last_, value);
    return last_;
  }
  const Value* find(std::uint64_t number) const {
    const auto found = values_.find(number);
    return found == values_.end() ? nullptr : &found->second;
  }
  bool erase(std::uint64_t number) { return values_.erase(number) != 0; }

 private:
  std::map<std::uint64_t, Value> values_;
  std::uint64_t last_ = 0;
};

using Textures = Numbered<Texture>;
using Surfaces = Numbered<CUDA_RESOURCE_DESC>;

}  // namespace cuvmm::emulator
