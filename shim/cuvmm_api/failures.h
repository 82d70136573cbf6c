// SPDX-License-Identifier: Apache-2.0
// cuvmm_fail and its kin of include/cuvmm/cuvmm.h, but for what all such functions do.
#pragma once

#include <optional>
#include <string>

namespace cuvmm::shim::client {

/// The token of failures that begin now; an error of cuvmm.h where the text is none.
long begin_failures(const char* spec);
/// How many there were; an error where the token is not open.
long end_failures(long token);
/// What came so far, as JSON; nothing where the token is not open.
std::optional<std::string> told_of_failures(long token);

}  // namespace cuvmm::shim::client
