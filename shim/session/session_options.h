// SPDX-License-Identifier: Apache-2.0
// The settings of a session.
#pragma once

#include "shim/queued_work/queued_work.h"
#include "shim/refusals/driver_log.h"
#include "shim/refusals/neighbours.h"

namespace cuvmm::shim {

struct SessionOptions {
  bool enforce = false;   ///< the shim answers forbidden calls instead of forwarding them
  bool emulated = false;  ///< the driver is cuvmm's emulator
  WorkOptions work = {};
  DriverLog log = {};
  const Neighbourhood* others = nullptr;  ///< null: cuvmm asks no other process
};

}  // namespace cuvmm::shim
