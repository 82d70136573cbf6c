// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress. The driver answers first. cuvmm then replaces only the functions whose exact
// name, version and flags it knows.
#pragma once

#include <cstdint>
#include <string>

#include "api/symbols/symbols.h"

namespace cuvmm::shim {

/// The functions that a resolver needs from its surroundings; the shim and the tests implement them
/// differently.
class ResolverHost {
 public:
  virtual ~ResolverHost() = default;
  /// cuvmm's wrapper for an intercepted symbol; null if the symbol has none.
  virtual void* wrapper(Symbol symbol) = 0;
  /// The driver's own exported function, or null.
  virtual void* driver_export(const char* name) = 0;
  /// cuvmm's cuGetProcAddress with the 4-parameter ABI (11.3) or the 5-parameter one (12.0).
  virtual void* get_proc_address(int version) = 0;
  /// The refusing function for a name of api/multicast.h; null if multicast is allowed.
  virtual void* refused_multicast() = 0;
  /// The function that replaces the driver's function `answer` of this name although its calls are
  /// not checked (shim/guard/guard.h, shim/cuvmm_api/fork_point.h,
  /// shim/intercept/object_functions.h), or null.
  virtual void* guarded(const char*, void*) { return nullptr; }
  /// A function that calls `answer` and notes that the program called it, for a function that is
  /// not checked and changes memory; null for others.
  virtual void* counting(const char*, void*) { return nullptr; }
  /// The program gets a function that is not checked: an intercepted function with another ABI, or
  /// a function about memory that cuvmm does not know.
  virtual void unchecked(std::string what) = 0;
};

/// The pointer that the program gets in place of `answer`, the driver's pointer for a successful
/// query; `answer` itself if cuvmm has no function for (query, version, flags).
void* substitute(ResolverHost& host, const char* query, int version, std::uint64_t flags,
                 void* answer);

}  // namespace cuvmm::shim
