// SPDX-License-Identifier: Apache-2.0
// The facts for one call. The object is made when the first fact comes. Most calls need no fact,
// and clearing the memory of all facts would be a tenth of the code that a call runs.
#pragma once

#include <new>
#include <type_traits>

#include "rulebook/base/platform.h"

namespace cuvmm::shim {

class LateFacts {
 public:
  LateFacts() noexcept {}  // NOLINT(modernize-use-equals-default): the union has no default
  LateFacts(const LateFacts&) = delete;
  LateFacts& operator=(const LateFacts&) = delete;

  const Facts& read() const { return made_ ? facts_ : kNone; }
  Facts& write() {
    if (!made_) make();
    return facts_;
  }

 private:
  static constexpr Facts kNone{};

  [[gnu::noinline]] void make() {
    new (&facts_) Facts;
    made_ = true;
  }

  bool made_ = false;
  union {
    Facts facts_;  // trivially destructible
  };
  static_assert(std::is_trivially_destructible_v<Facts>);
};

}  // namespace cuvmm::shim
