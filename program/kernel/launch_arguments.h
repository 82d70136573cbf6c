// SPDX-License-Identifier: Apache-2.0
// The arguments of a launch, as the program text lists them: words of eight bytes, and structures
// of such words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cuvmm::program {

/// One argument: a word, or the words of a structure that is passed by value.
using LaunchArgument = std::vector<std::uint64_t>;

class LaunchArguments {
 public:
  explicit LaunchArguments(std::vector<LaunchArgument> arguments);
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  /// The pointer for the parameter of this name: kernelParams, or extra with all arguments in one
  /// packed buffer.
  void** pointer(std::string_view parameter);

 private:
  std::vector<LaunchArgument> arguments_;
  std::vector<std::uint64_t> packed_;
  std::size_t packed_bytes_ = 0;
  std::vector<void*> pointers_;
};

}  // namespace cuvmm::program
