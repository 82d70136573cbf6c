// SPDX-License-Identifier: Apache-2.0
// The suite: the hand-written cases and the families, from the binary itself or from a folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/suite/case.h"
#include "conformance/suite/family.h"

namespace cuvmm::conformance {

/// A file of conformance/cases, families or known, as it was when the binary was built.
struct SuiteFile {
  const char* name;  ///< "map.cuvmm", "map.family", "h200-580.159.04.known"
  const char* text;
};
std::span<const SuiteFile> suite_files();

struct Suite {
  std::vector<Case> cases;  ///< hand-written, then singles, then pairs where asked for
  std::vector<Family> families;
  std::vector<std::string> errors;  ///< "FILE:LINE:COLUMN: message"
};

/// The built-in suite, or that of `folder`: the *.cuvmm files of its folder cases, or if it has
/// none of its own, those in all folders below included; its *.family files and those of its folder
/// families. A name that two cases share is an error.
Suite load_suite(const std::string& folder, bool with_pairs);

}  // namespace cuvmm::conformance
