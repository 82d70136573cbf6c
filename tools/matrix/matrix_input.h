// SPDX-License-Identifier: Apache-2.0
// One column of the matrix from a file: conformance results, a recording, or a driver profile.
#pragma once

#include <string>

#include "tools/matrix/matrix.h"

namespace cuvmm::tools {

struct MatrixInput {
  MatrixColumn column;
  std::string error;  ///< "FILE: what was expected"; empty on success
};

/// `path` is a JSON file of `cuvmm conform --json` or `cuvmm-record`, a TOML profile, or the name
/// of a built-in profile.
MatrixInput load_matrix_input(const std::string& path);
/// The same from text; `origin` names it in errors.
MatrixInput parse_matrix_json(const std::string& text, const std::string& origin);

}  // namespace cuvmm::tools
