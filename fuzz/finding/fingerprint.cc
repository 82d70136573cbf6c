// SPDX-License-Identifier: Apache-2.0
#include "fuzz/finding/fingerprint.h"

#include <cctype>
#include <cstdint>
#include <cstdio>

#include "api/fnv1a.h"
#include "fuzz/finding/shrinker.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

std::string kind_of(const std::string& problem) {
  const bool placed = problem.rfind("op ", 0) == 0;  // "op 12, cuMemUnmap answered ..."
  std::string out = placed ? problem.substr(problem.find(", ") + 2) : problem;
  for (const Simpler& s : simpler_calls()) {
    const std::string function(function_of(s.code));
    const bool starts = out.rfind(function, 0) == 0 && !std::isalnum(out[function.size()]);
    if (starts) return std::string(function_of(s.instead)) + out.substr(function.size());
  }
  return out;
}

std::string fingerprint(const std::string& kind) {
  const std::uint64_t hash = fnv1a("fuzz\n" + kind);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace cuvmm::fuzz
