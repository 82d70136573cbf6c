// SPDX-License-Identifier: Apache-2.0
// What fabric handles need of the machine: IMEX channels, and between machines the IMEX daemon.
#pragma once

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

/// Opens each channel for a moment.
Check check_imex_channels(const Host& host, bool module_loaded);

Check check_imex_daemon(const Host& host);

}  // namespace cuvmm::doctor
