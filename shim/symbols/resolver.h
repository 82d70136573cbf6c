// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress. The driver answers first. We then replace only the functions whose exact name,
// version and flags we know.
#pragma once

#include <cstdint>
#include <string>

#include "api/symbols/symbols.h"

namespace cuvmm::shim {

/// What a resolver needs of its surroundings; the shim and the tests fill it differently.
class ResolverHost {
 public:
  virtual ~ResolverHost() = default;
  /// Our wrapper for an intercepted symbol; null when it has none.
  virtual void* wrapper(Symbol symbol) = 0;
  /// The driver's own exported function, or null.
  virtual void* driver_export(const char* name) = 0;
  /// Our cuGetProcAddress of the 4-parameter ABI (11.3) or the 5-parameter one (12.0).
  virtual void* get_proc_address(int version) = 0;
  /// The refusing function for a name of api/multicast.h; null when multicast is allowed.
  virtual void* refused_multicast() = 0;
  /// What stands for the driver's function `answer` of this name although nothing of it is checked
  /// (shim/guard/guard.h, shim/cuvmm_api/fork_point.h, shim/intercept/object_functions.h), or null.
  virtual void* guarded(const char*, void*) { return nullptr; }
  /// What was handed out is not checked: a function of ours with another ABI, or a function about
  /// memory that nobody here knows.
  virtual void unchecked(std::string what) = 0;
};

/// What the program gets instead of `answer`, the driver's pointer for a successful query; `answer`
/// itself where nothing of ours stands for (query, version, flags).
void* substitute(ResolverHost& host, const char* query, int version, std::uint64_t flags,
                 void* answer);

}  // namespace cuvmm::shim
