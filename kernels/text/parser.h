// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// Reads a module; null and an error where the text is not PTX. Instructions are not looked into:
/// any word may be one.
std::shared_ptr<const Module> parse(std::string_view text, Error& error);

/// Whether a text has what each module begins with.
bool looks_like_ptx(std::string_view text);

}  // namespace cuvmm::kernels
