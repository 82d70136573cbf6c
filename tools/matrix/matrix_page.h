// SPDX-License-Identifier: Apache-2.0
// The page of `cuvmm matrix --html` around its data: tools/matrix/matrix_page.html, made a string
// at build time.
#pragma once

namespace cuvmm::tools {

/// Holds "@DATA@" once, where the JSON goes.
extern const char* const kMatrixPage;

}  // namespace cuvmm::tools
