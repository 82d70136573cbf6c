// SPDX-License-Identifier: Apache-2.0
// The bank of error-path bugs: mistakes that show only after a call of the driver failed. The
// program's argument is the name of a bug, or `none` for a program without a mistake.
#pragma once

#include <string_view>

namespace bank {

enum class Bug {
  kNone,
#define BANK_BUG(name, word) name,
#include "examples/fail_bank/bugs.def"
  kUnknown
};

inline Bug bug_of(std::string_view word) {
  if (word == "none") return Bug::kNone;
#define BANK_BUG(name, text) \
  if (word == text) return Bug::name;
#include "examples/fail_bank/bugs.def"
  return Bug::kUnknown;
}

}  // namespace bank
