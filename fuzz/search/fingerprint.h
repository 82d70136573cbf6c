// SPDX-License-Identifier: Apache-2.0
// Tells mistakes apart, wherever in a program and by whichever seed they were found.
#pragma once

#include <string>

namespace cuvmm::fuzz {

/// What is wrong, wherever in a program, and whether a simpler call shows it or the one found.
std::string kind_of(const std::string& problem);

/// 16 digits of a kind: what `cuvmm work merge` calls the finding.
std::string fingerprint(const std::string& kind);

}  // namespace cuvmm::fuzz
