// SPDX-License-Identifier: Apache-2.0
// The mark of a process whose last report could not be written.
#pragma once

namespace cuvmm {

/// The end of the mark's name, behind the name of the report's file. The mark is an empty file,
/// because the reports are lost where files must not grow.
inline constexpr const char* kLostMark = ".lost";

}  // namespace cuvmm
