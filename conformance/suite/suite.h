// SPDX-License-Identifier: Apache-2.0
// The suite: the hand-written cases and the families, from the binary itself or from a folder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/suite/case.h"
#include "conformance/suite/family.h"

namespace cuvmm::conformance {

/// A file of conformance/cases, families or known, from the time when the binary was built.
struct SuiteFile {
  const char* name;  ///< "map.cuvmm", "map.family", "h200-580.159.04.known"
  const char* text;
};
std::span<const SuiteFile> suite_files();

struct Suite {
  std::vector<Case> cases;  ///< hand-written cases, then singles, then pairs if asked for
  std::vector<Family> families;
  std::vector<std::string> errors;  ///< "FILE:LINE:COLUMN: message"
};

/// The built-in suite, or the suite of `folder`: the *.cuvmm files in its folder cases (if it has
/// no such files, those in all folders below it, too), the *.family files in `folder`, and those in
/// its folder families. Two cases with one name are an error.
Suite load_suite(const std::string& folder, bool with_pairs);

}  // namespace cuvmm::conformance
