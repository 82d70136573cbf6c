// SPDX-License-Identifier: Apache-2.0
// Deliberate mistakes of a driver, so that the search can be judged by whether it notices them. A
// mistake stands in the table of functions, in front of the driver.
#pragma once

#include <span>
#include <string_view>

#include "fuzz/objects/machine.h"

namespace cuvmm::fuzz::objects {

struct Mistake {
  const char* name;
  const char* says;
};
/// All mistakes, each with what it does.
std::span<const Mistake> mistakes();

/// The driver's functions with one mistake; error says so where there is no such mistake. One
/// mistake at a time: the functions of an earlier call must no longer be used.
Functions with_mistake(const Functions& driver, std::string_view name);

}  // namespace cuvmm::fuzz::objects
