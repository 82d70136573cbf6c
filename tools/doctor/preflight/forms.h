// SPDX-License-Identifier: Apache-2.0
// A preflight as the programs read it that schedule work: each with its own text and exit code.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/doctor/preflight/preflight.h"

namespace cuvmm::doctor {

struct Form {
  const char* name;   ///< of --form
  const char* about;  ///< for the help
  std::string (*text)(const Preflight& preflight, const Occasion& occasion);
  int (*exit_code)(const Preflight& preflight);
};
std::span<const Form> forms();
/// Null if there is no form of that name.
const Form* find_form(std::string_view name);

}  // namespace cuvmm::doctor
