// SPDX-License-Identifier: Apache-2.0
// Fabric handles need an IMEX channel on the machine. Between machines they also need the IMEX
// daemon.
#pragma once

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

/// Opens each channel, and closes it at once.
Check check_imex_channels(const Host& host, bool module_loaded);

Check check_imex_daemon(const Host& host);

}  // namespace cuvmm::doctor
