// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// Reads a module; null, and the reason in `error`, where the text is not PTX. The parser does not
/// check instructions: any word may be an opcode.
std::shared_ptr<const Module> parse(std::string_view text, Error& error);

/// Whether a text begins as each module does.
bool looks_like_ptx(std::string_view text);

}  // namespace cuvmm::kernels
