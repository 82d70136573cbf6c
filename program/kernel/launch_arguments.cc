// SPDX-License-Identifier: Apache-2.0
#include "program/kernel/launch_arguments.h"

#include <cuda.h>

#include <utility>

namespace cuvmm::program {

LaunchArguments::LaunchArguments(std::vector<LaunchArgument> arguments)
    : arguments_(std::move(arguments)) {
  for (const LaunchArgument& each : arguments_) {
    packed_.insert(packed_.end(), each.begin(), each.end());
  }
  packed_bytes_ = packed_.size() * sizeof(std::uint64_t);
}

void** LaunchArguments::pointer(std::string_view parameter) {
  if (parameter == "extra") {
    pointers_ = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                 &packed_bytes_, CU_LAUNCH_PARAM_END};
  } else {
    for (LaunchArgument& each : arguments_) pointers_.push_back(each.data());
    pointers_.push_back(nullptr);  // an empty list is no null pointer
  }
  return pointers_.data();
}

}  // namespace cuvmm::program
