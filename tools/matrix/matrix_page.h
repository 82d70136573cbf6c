// SPDX-License-Identifier: Apache-2.0
// The page of `cuvmm matrix --html` without its data: the text of tools/matrix/matrix_page.html,
// which the build embeds.
#pragma once

namespace cuvmm::tools {

/// Has "@DATA@" once, in place of the JSON.
extern const char* const kMatrixPage;

}  // namespace cuvmm::tools
