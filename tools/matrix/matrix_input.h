// SPDX-License-Identifier: Apache-2.0
// Columns of the matrix: conformance results, a recording, a driver profile, or a folder of
// `cuvmm work`, which may be of several drivers.
#pragma once

#include <string>
#include <vector>

#include "tools/matrix/matrix.h"

namespace cuvmm::tools {

struct MatrixInput {
  std::vector<MatrixColumn> columns;
  std::string error;  ///< "FILE: what was expected"; empty on success
};

/// `path` is a JSON file of `cuvmm conform --json` or `cuvmm-record`, a TOML profile, the name of a
/// built-in profile, or a folder of `cuvmm work`.
MatrixInput load_matrix_input(const std::string& path);
/// The same from text; `origin` names it in errors.
MatrixInput parse_matrix_json(const std::string& text, const std::string& origin);

}  // namespace cuvmm::tools
