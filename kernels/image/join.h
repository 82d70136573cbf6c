// SPDX-License-Identifier: Apache-2.0
// Links texts of PTX.
#pragma once

#include <span>
#include <string>

#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

/// One text of several, in which a name that one defines is what the others declare. A name that is
/// local to a text stays apart from an equal name elsewhere. On an error, which names the second
/// definition of a name, `out` stays empty.
Error join(std::span<const Module* const> modules, std::string& out);

}  // namespace cuvmm::kernels
