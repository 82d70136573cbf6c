// SPDX-License-Identifier: Apache-2.0
// The addresses among the arguments of a launch.
#pragma once

#include <cstring>

#include "rulebook/order/check_work.h"
#include "rulebook/order/uses.h"
#include "shim/session/bounds.h"
#include "shim/work/layouts.h"

namespace cuvmm::shim {

/// What one launch is given that may be an address of memory that matters.
class Pointers {
 public:
  static constexpr std::size_t kMost = 128;

  Pointers() noexcept {}  // NOLINT(modernize-use-equals-default): the unions have no default

  /// Each word that may be an address, also inside of structs that are passed by value.
  const UsedRange* begin() const { return words_; }
  std::size_t size() const { return count_; }
  /// Those that are whole parameters. A struct may have parts that nobody wrote, which hold what
  /// the stack had there.
  const LaunchArgument* arguments() const { return arguments_; }
  std::size_t argument_count() const { return argument_count_; }

  void add(std::uint64_t word, int parameter, bool whole) {
    if (count_ == kMost) return;
    // The parts of a struct often are one address. To look further back costs more than it saves.
    if (count_ != 0 && last_ == word) return;
    last_ = word;
    words_[count_++] = {word, 0};
    if (whole) arguments_[argument_count_++] = {word, parameter};
  }

  /// Reads `kernelParams`, or the packed buffer of `extra`, where there is one.
  void read(const Layout& layout, void** parameters, void** extra, const Bounds& bounds);

 private:
  void read_one(const Layout::Parameter& parameter, int index, const unsigned char* bytes,
                const Bounds& bounds);

  // To clear the room for so many would be a good part of what a launch may cost.
  union {
    UsedRange words_[kMost];
  };
  union {
    LaunchArgument arguments_[kMost];
  };
  std::size_t count_ = 0;
  std::size_t argument_count_ = 0;
  std::uint64_t last_ = 0;
};

inline void Pointers::read_one(const Layout::Parameter& parameter, int index,
                               const unsigned char* bytes, const Bounds& bounds) {
  constexpr std::uint32_t kWord = sizeof(std::uint64_t);
  if (parameter.size == kWord && parameter.offset % kWord == 0) [[likely]] {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, kWord);
    if (bounds.holds(word)) add(word, index, true);
    return;
  }
  const std::uint32_t first = (kWord - parameter.offset % kWord) % kWord;
  for (std::uint32_t at = first; at + kWord <= parameter.size; at += kWord) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, kWord);
    if (bounds.holds(word)) add(word, index, parameter.size == kWord);
  }
}

inline void Pointers::read(const Layout& layout, void** parameters, void** extra,
                           const Bounds& bounds) {
  if (parameters) {
    for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(parameters[i]);
      if (bytes) read_one(layout.parameters[i], static_cast<int>(i), bytes, bounds);
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
    return read_one({0, static_cast<std::uint32_t>(size)}, -1, buffer, bounds);
  }
  for (std::size_t i = 0; i < layout.parameters.size(); ++i) {
    const Layout::Parameter& parameter = layout.parameters[i];
    if (parameter.offset > size || parameter.size > size - parameter.offset) return;
    read_one(parameter, static_cast<int>(i), buffer + parameter.offset, bounds);
  }
}

}  // namespace cuvmm::shim
