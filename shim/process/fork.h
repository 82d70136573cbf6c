// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cuvmm::shim {

/// Makes children of fork start with an empty model, unlocked locks and a report of their own.
void handle_forks();

}  // namespace cuvmm::shim
