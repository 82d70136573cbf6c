// SPDX-License-Identifier: Apache-2.0
// Distinguishes mistakes, independent of their place in a program and of the seed.
#pragma once

#include <string>

namespace cuvmm::fuzz {

/// A problem without its place in the program. A simpler call and the call it replaces give one
/// kind.
std::string kind_of(const std::string& problem);

/// 16 digits of a kind: what `cuvmm work merge` calls the finding.
std::string fingerprint(const std::string& kind);

}  // namespace cuvmm::fuzz
