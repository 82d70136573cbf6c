// SPDX-License-Identifier: Apache-2.0
// The addresses among the arguments of a launch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "rulebook/order/check_work.h"
#include "rulebook/order/uses.h"
#include "shim/base/bounds.h"
#include "shim/queued_work/arguments/argument_cache.h"
#include "shim/queued_work/arguments/layouts.h"
#include "shim/queued_work/arguments/tensor_maps.h"

namespace cuvmm::shim {

/// The packed arguments that a launch passes by its `extra`; empty if it passes none.
inline std::span<const unsigned char> packed_buffer(void** extra) {
  const unsigned char* buffer = nullptr;
  std::size_t size = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = static_cast<const unsigned char*>(extra[1]);
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return {};
    }
  }
  return {buffer, buffer ? size : 0};
}

/// Whether visit(word) is true for one of the words of 8 bytes through which a kernel may write:
/// words of any type, except for pointers to const numbers.
template <class Visit>
bool any_written(const Layout& layout, void** parameters, void** extra, Visit visit) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto any_in = [&](const unsigned char* bytes, std::size_t offset, std::size_t size) {
    for (std::size_t at = (kWord - offset % kWord) % kWord; at + kWord <= size; at += kWord) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, kWord);
      if (visit(word)) return true;
    }
    return false;
  };
  const std::span<const unsigned char> packed =
      parameters ? std::span<const unsigned char>() : packed_buffer(extra);
  if (layout.hidden) return !packed.empty() && any_in(packed.data(), 0, packed.size());
  const auto any_of = [&](const std::vector<Layout::Parameter>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Layout::Parameter& each) {
      if (each.reads) return false;
      if (parameters) {
        const auto* const bytes = static_cast<const unsigned char*>(parameters[each.index]);
        return bytes && any_in(bytes, each.offset, each.size);
      }
      const bool there = each.offset <= packed.size() && each.size <= packed.size() - each.offset;
      return there && any_in(packed.data() + each.offset, each.offset, each.size);
    });
  };
  return any_of(layout.parameters) || any_of(layout.others);
}

/// The arguments of one launch that may be addresses of memory which cuvmm follows.
class Pointers {
 public:
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kMostTensors = 32;

  Pointers() noexcept {}  // NOLINT(modernize-use-equals-default): the unions have no default

  /// Each word that may be an address, with its evidence; and the tensors of tensor maps, with
  /// their sizes. Valid as long as this object.
  UsedMemory memory() const {
    return {{words_, count_}, {tensors_, tensor_count_}, outside_ != 0, structs_, common_, any_};
  }
  bool empty() const { return count_ == 0 && tensor_count_ == 0; }
  /// The surest evidence among all words; kWord if there are no words.
  Evidence surest() const {
    if (tensor_count_ != 0) return Evidence::kByType;
    const std::uint64_t grades = any_ >> GivenWord::kShift;
    const auto by_type = static_cast<std::uint64_t>(Evidence::kByType);
    return static_cast<Evidence>(std::min(grades, by_type));
  }
  /// The words that are addresses by their type, except for elements of arrays: a program may leave
  /// elements unwritten, which then hold old bytes of the stack. Written to `out`, which holds
  /// kMostArguments; returns the number of arguments.
  static constexpr std::size_t kMostArguments = kMost + kMostTensors;
  std::size_t arguments(LaunchArgument* out) const {
    std::size_t count = 0, next = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const int parameter = of_words_ ? next_word(next) : parameters_[i];
      if (words_[i].evidence() != Evidence::kByType || parameter == kElement) continue;
      out[count++] = {words_[i].address(), parameter};
    }
    for (std::size_t i = 0; i < tensor_count_; ++i) {
      out[count++] = {tensors_[i].base, tensor_parameters_[i]};
    }
    return count;
  }
  /// A hash of the granules (ArgumentCache) that the words lie in: other granules have another
  /// hash. 0: there are no words.
  std::uint64_t fingerprint() const { return empty() ? 0 : fingerprint_; }

  void add(std::uint64_t word, int parameter, Evidence evidence) {
    if (count_ == kMost) return;
    const GivenWord given(word, evidence);
    // The parts of a struct often hold equal addresses. A comparison with more than the last word
    // costs more than it saves.
    if (count_ != 0 && words_[count_ - 1].bits() == given.bits()) return;
    parameters_[count_] = static_cast<std::int16_t>(parameter);
    words_[count_++] = given;
    common_ &= given.bits();
    any_ |= given.bits();
    fingerprint_ = with(fingerprint_, word);
  }

  void add(const UsedRange& tensor, int parameter) {
    if (tensor_count_ == kMostTensors) return;
    tensor_parameters_[tensor_count_] = static_cast<std::int16_t>(parameter);
    tensors_[tensor_count_++] = tensor;
    fingerprint_ = with(fingerprint_, tensor.base);
  }

  /// Reads `kernelParams`, or the packed buffer of `extra` if the launch has one.
  [[gnu::hot]] void read(const Layout& layout, void** parameters, void** extra,
                         const Bounds& bounds, const TensorMaps& maps);

 private:
  static std::uint64_t with(std::uint64_t fingerprint, Address address) {
    return ArgumentCache::join(fingerprint, address >> ArgumentCache::kGranuleShift);
  }
  // The fingerprint of no words; it begins every fingerprint, so that none equals a value which
  // ArgumentCache::join() makes of words alone.
  static constexpr std::uint64_t kNoWords = std::uint64_t{1} << 63;

  // Stands for an element of an array. -1 stands for an unknown parameter.
  static constexpr std::int16_t kElement = -2;

  void read_words(const std::vector<Layout::Word>& words, void** parameters, Bounds::Range range);
  // Marks a word that read_words() got and did not note.
  void skip(std::ptrdiff_t word) { skipped_[word / 64] |= std::uint64_t{1} << word % 64; }
  // The parameter of the first noted word at or after `next`; moves `next` behind it.
  int next_word(std::size_t& next) const {
    while ((skipped_[next / 64] >> next % 64 & 1) != 0) ++next;
    return (*of_words_)[next++].index;
  }
  // `hints`: words whose evidence is kWord are noted as well.
  void read_one(const Layout::Parameter& parameter, bool hints, const unsigned char* bytes,
                const Bounds& bounds, const TensorMaps& maps);
  // Whether a tensor map lies there. Notes the map's tensor if cuvmm follows the tensor's memory.
  bool read_map(const Layout::Parameter& parameter, std::uint32_t at, const unsigned char* bytes,
                const Bounds& bounds, const TensorMaps& maps);

  // These are unions, because clearing the arrays would take a good part of the time that a launch
  // may cost.
  union {
    GivenWord words_[kMost];
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
  // In place of `parameters_`: the layout's words that read_words() read; `skipped_` marks the
  // words that it did not note.
  const std::vector<Layout::Word>* of_words_ = nullptr;
  std::uint64_t skipped_[kMost / 64] = {};
  std::size_t count_ = 0;
  std::size_t tensor_count_ = 0;
  std::uint64_t fingerprint_ = kNoWords;
  std::uint64_t common_ = ~std::uint64_t{0};  ///< bits that all words have
  std::uint64_t any_ = 0;                     ///< bits that some words have, their grades included
  std::uint64_t outside_ = 0;                 ///< the words that are not noted, joined by OR
  bool structs_ = false;
};

inline bool Pointers::read_map(const Layout::Parameter& parameter, std::uint32_t at,
                               const unsigned char* bytes, const Bounds& bounds,
                               const TensorMaps& maps) {
  if ((parameter.offset + at) % TensorMaps::kAlignment != 0) return false;
  if (parameter.size - at < TensorMaps::kBytes) return false;
  const auto tensor = maps.find(bytes + at);
  if (!tensor) return false;
  const Size reach = tensor->size == 0 ? 0 : tensor->size - 1;
  if (bounds.holds(tensor->base) || bounds.holds(tensor->base + reach)) {
    add(*tensor, parameter.index);
  }
  return true;
}

inline void Pointers::read_one(const Layout::Parameter& parameter, bool hints,
                               const unsigned char* bytes, const Bounds& bounds,
                               const TensorMaps& maps) {
  constexpr std::uint32_t kWord = sizeof(std::uint64_t);
  const bool may_have_maps = parameter.size >= TensorMaps::kBytes && maps.any();
  const bool may_be_addresses = hints || parameter.evidence != Evidence::kWord;
  if (!may_have_maps && !may_be_addresses) [[likely]]
    return;
  const std::uint32_t first = (kWord - parameter.offset % kWord) % kWord;
  for (std::uint32_t at = first; at + kWord <= parameter.size; at += kWord) {
    if (may_have_maps && read_map(parameter, at, bytes, bounds, maps)) {
      at += TensorMaps::kBytes - kWord;
      continue;
    }
    if (!may_be_addresses) continue;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, kWord);
    const int index = parameter.size == kWord ? parameter.index : kElement;
    if (bounds.holds(word)) {
      add(word, index, parameter.evidence);
    } else {
      outside_ |= word;
    }
  }
}

// Does the work of read_one() for each of at most kMost words. Counts in local variables, which
// stay in registers.
inline void Pointers::read_words(const std::vector<Layout::Word>& words, void** parameters,
                                 Bounds::Range range) {
  std::size_t found = 0;
  of_words_ = &words;
  std::uint64_t fingerprint = kNoWords, common = ~std::uint64_t{0}, any = 0, outside = 0;
  for (const Layout::Word& each : words) {
    const void* const at = parameters[each.index];
    if (!at) [[unlikely]] {
      skip(&each - words.data());
      continue;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const GivenWord given(word, each.evidence);
    words_[found] = given;
    if (!range.holds(word)) {
      skip(&each - words.data());
      outside |= word;
      continue;
    }
    common &= given.bits();
    any |= given.bits();
    fingerprint = with(fingerprint, word);
    ++found;
  }
  count_ = found;
  fingerprint_ = fingerprint;
  common_ = common;
  any_ = any;
  outside_ = outside;
}

inline void Pointers::read(const Layout& layout, void** parameters, void** extra,
                           const Bounds& bounds, const TensorMaps& maps) {
  structs_ = layout.structs;
  if (parameters && !layout.words.empty() && layout.words.size() <= kMost) [[likely]] {
    return read_words(layout.words, parameters, bounds.range());
  }
  if (parameters) {
    for (const Layout::Parameter& each : layout.parameters) {
      const auto* bytes = static_cast<const unsigned char*>(parameters[each.index]);
      if (bytes) read_one(each, layout.hints, bytes, bounds, maps);
    }
    return;
  }
  const std::span<const unsigned char> packed = packed_buffer(extra);
  if (packed.empty()) return;
  const unsigned char* const buffer = packed.data();
  const std::size_t size = packed.size();
  if (layout.hidden) {
    return read_one({0, static_cast<std::uint32_t>(size)}, layout.hints, buffer, bounds, maps);
  }
  for (const Layout::Parameter& each : layout.parameters) {
    if (each.offset > size || each.size > size - each.offset) return;
    read_one(each, layout.hints, buffer + each.offset, bounds, maps);
  }
}

}  // namespace cuvmm::shim
