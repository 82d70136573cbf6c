// SPDX-License-Identifier: Apache-2.0
// The bank of error-path bugs: each is a mistake that shows only after a call of the driver failed.
// The name of one is the program's argument; `none` is the program without a mistake.
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
