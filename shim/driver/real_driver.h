// SPDX-License-Identifier: Apache-2.0
// The libcuda behind the shim: found without finding the shim itself, opened at the first use.
#pragma once

#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "shim/settings/options.h"

namespace cuvmm::shim {

/// The libcuda to which cuvmm forwards calls. Never unloaded, because drivers do not support it.
struct RealDriver {
  void* library = nullptr;  ///< dlopen handle; null: there is no driver
  std::string path;         ///< the path by which it was opened
  bool emulated = false;    ///< whether it exports cuvmmEmulatorVersion
  Driver functions;         ///< by Symbol; null for functions that this driver lacks; without
                            ///< refused multicast functions
  std::string error;        ///< why no driver was opened, one sentence

  /// The exported function of this name, or null.
  void* find(const char* name) const;
};

/// Files that could be the driver, in the order in which open_driver() tries them. The files need
/// not exist.
std::vector<std::string> driver_candidates(const Options& options);

/// Opens the first candidate that is a libcuda and not a cuvmm shim.
RealDriver open_driver(const Options& options);

}  // namespace cuvmm::shim
