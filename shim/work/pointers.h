// SPDX-License-Identifier: Apache-2.0
// The addresses among the arguments of a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rulebook/order/check_work.h"
#include "rulebook/order/uses.h"
#include "shim/session/bounds.h"
#include "shim/work/argument_cache.h"
#include "shim/work/layouts.h"
#include "shim/work/tensor_maps.h"

namespace cuvmm::shim {

/// What one launch is given that may be an address of memory that matters.
class Pointers {
 public:
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kMostTensors = 32;

  Pointers() noexcept {}  // NOLINT(modernize-use-equals-default): the unions have no default

  /// Each word that may be an address, also inside of structs that are passed by value; and the
  /// tensors of tensor maps, which have a size. Lives as long as this.
  UsedMemory memory() const { return {{words_, count_}, {tensors_, tensor_count_}}; }
  bool empty() const { return count_ == 0 && tensor_count_ == 0; }
  /// Those that are whole parameters. A struct may have parts that nobody wrote, which hold what
  /// the stack had there. Written to `out`, which has room for kMostArguments; how many they are.
  static constexpr std::size_t kMostArguments = kMost + kMostTensors;
  std::size_t arguments(LaunchArgument* out) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (parameters_[i] != kPart) out[count++] = {words_[i], parameters_[i]};
    }
    for (std::size_t i = 0; i < tensor_count_; ++i) {
      out[count++] = {tensors_[i].base, tensor_parameters_[i]};
    }
    return count;
  }
  /// Which granules (ArgumentCache) the whole parameters lie in, as one number: others have another
  /// one. 0: there are none.
  std::uint64_t fingerprint() const { return fingerprint_; }

  void add(std::uint64_t word, int parameter, bool whole) {
    if (count_ == kMost) return;
    // The parts of a struct often are one address. To look further back costs more than it saves.
    if (count_ != 0 && words_[count_ - 1] == word) return;
    parameters_[count_] = static_cast<std::int16_t>(whole ? parameter : kPart);
    words_[count_++] = word;
    if (whole) fingerprint_ = with(fingerprint_, word);
  }

  void add(const UsedRange& tensor, int parameter) {
    if (tensor_count_ == kMostTensors) return;
    tensor_parameters_[tensor_count_] = static_cast<std::int16_t>(parameter);
    tensors_[tensor_count_++] = tensor;
    fingerprint_ = with(fingerprint_, tensor.base);
  }

  /// Reads `kernelParams`, or the packed buffer of `extra`, where there is one.
  [[gnu::hot]] void read(const Layout& layout, void** parameters, void** extra,
                         const Bounds& bounds, const TensorMaps& maps);

 private:
  // Of no parameter as a whole. -1 is one that is not known.
  static constexpr std::int16_t kPart = -2;

  static std::uint64_t with(std::uint64_t fingerprint, Address address) {
    return ArgumentCache::join(fingerprint, ArgumentCache::granule(address));
  }

  void read_words(void** parameters, std::size_t count, Bounds::Range range);
  void read_one(const Layout::Parameter& parameter, int index, const unsigned char* bytes,
                const Bounds& bounds, const TensorMaps& maps);
  // Whether a tensor map lies there. It is noted if its tensor matters.
  bool read_map(const Layout::Parameter& parameter, std::uint32_t at, int index,
                const unsigned char* bytes, const Bounds& bounds, const TensorMaps& maps);

  // To clear the room for so many would be a good part of what a launch may cost.
  union {
    Address words_[kMost];
  };
  union {
    std::int16_t parameters_[kMost];
  };
  union {
    UsedRange tensors_[kMostTensors];
  };
  union {
    std::int16_t tensor_parameters_[kMostTensors];
  };
  std::size_t count_ = 0;
  std::size_t tensor_count_ = 0;
  std::uint64_t fingerprint_ = 0;
};

inline bool Pointers::read_map(const Layout::Parameter& parameter, std::uint32_t at, int index,
                               const unsigned char* bytes, const Bounds& bounds,
                               const TensorMaps& maps) {
  if ((parameter.offset + at) % TensorMaps::kAlignment != 0) return false;
  if (parameter.size - at < TensorMaps::kBytes) return false;
  const auto tensor = maps.find(bytes + at);
  if (!tensor) return false;
  const Size reach = tensor->size == 0 ? 0 : tensor->size - 1;
  if (bounds.holds(tensor->base) || bounds.holds(tensor->base + reach)) add(*tensor, index);
  return true;
}

inline void Pointers::read_one(const Layout::Parameter& parameter, int index,
                               const unsigned char* bytes, const Bounds& bounds,
                               const TensorMaps& maps) {
  constexpr std::uint32_t kWord = sizeof(std::uint64_t);
  if (parameter.size == kWord && parameter.offset % kWord == 0) [[likely]] {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, kWord);
    if (bounds.holds(word)) add(word, index, true);
    return;
  }
  const bool may_have_maps = parameter.size >= TensorMaps::kBytes && maps.any();
  const std::uint32_t first = (kWord - parameter.offset % kWord) % kWord;
  for (std::uint32_t at = first; at + kWord <= parameter.size; at += kWord) {
    if (may_have_maps && read_map(parameter, at, index, bytes, bounds, maps)) {
      at += TensorMaps::kBytes - kWord;
      continue;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, kWord);
    if (bounds.holds(word)) add(word, index, parameter.size == kWord);
  }
}

// As read_one() for each of at most kMost words. What it counts with stays in registers.
inline void Pointers::read_words(void** parameters, std::size_t count, Bounds::Range range) {
  std::size_t found = 0;
  std::uint64_t fingerprint = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!parameters[i]) [[unlikely]]
      continue;
    std::uint64_t word = 0;
    std::memcpy(&word, parameters[i], sizeof word);
    words_[found] = word;
    parameters_[found] = static_cast<std::int16_t>(i);
    if (!range.holds(word)) continue;
    fingerprint = with(fingerprint, word);
    ++found;
  }
  count_ = found;
  fingerprint_ = fingerprint;
}

inline void Pointers::read(const Layout& layout, void** parameters, void** extra,
                           const Bounds& bounds, const TensorMaps& maps) {
  if (parameters && layout.words && layout.parameters.size() <= kMost) [[likely]] {
    return read_words(parameters, layout.parameters.size(), bounds.range());
  }
  if (parameters) {
    for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(parameters[i]);
      if (bytes) read_one(layout.parameters[i], static_cast<int>(i), bytes, bounds, maps);
    }
    return;
  }
  const unsigned char* buffer = nullptr;
  std::size_t size = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = static_cast<const unsigned char*>(extra[1]);
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return;
    }
  }
  if (!buffer) return;
  if (layout.hidden) {
    return read_one({0, static_cast<std::uint32_t>(size)}, -1, buffer, bounds, maps);
  }
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const Layout::Parameter& parameter = layout.parameters[i];
    if (parameter.offset > size || parameter.size > size - parameter.offset) return;
    read_one(parameter, static_cast<int>(i), buffer + parameter.offset, bounds, maps);
  }
}

}  // namespace cuvmm::shim
