// SPDX-License-Identifier: Apache-2.0
// Whether NVML was started.
#pragma once

namespace cuvmm::nvml {

/// Whether nvmlInit was called more often than nvmlShutdown.
bool started();

}  // namespace cuvmm::nvml
