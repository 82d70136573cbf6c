// SPDX-License-Identifier: Apache-2.0
// cuvmm_fail and its related functions of include/cuvmm/cuvmm.h, without the part that all such
// functions share.
#pragma once

#include <optional>
#include <string>

namespace cuvmm::shim::client {

/// Returns the token of failures that begin now; an error of cuvmm.h if `spec` is no specification.
long begin_failures(const char* spec);
/// Returns the number of failures; an error if the token is not open.
long end_failures(long token);
/// The failures so far, as JSON; nullopt if the token is not open.
std::optional<std::string> report_of_failures(long token);

}  // namespace cuvmm::shim::client
