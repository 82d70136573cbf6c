// SPDX-License-Identifier: Apache-2.0
// `cuvmm checkpoint PID --check`: the objects of a living process that are in the way of a
// checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recorder/holdings/reader.h"
#include "rulebook/leaks/checkpoint.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// Objects of one kind that one place in the program made.
struct InTheWay {
  Blocking kind;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first_call = 0;
  std::uint32_t stack = 0;
  std::string which;  ///< the first of them: "handle 0x7, no binding"
};
/// By kind, then by call.
std::vector<InTheWay> in_the_way(const holdings::Snapshot& now);

std::string checkpoint_text(const holdings::View& view, const holdings::Snapshot& now);
Json checkpoint_json(const holdings::View& view, const holdings::Snapshot& now);

}  // namespace cuvmm::tools
