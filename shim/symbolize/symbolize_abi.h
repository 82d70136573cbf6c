// SPDX-License-Identifier: Apache-2.0
// The C interface of libcuvmm-symbolize.so, which the shim opens at its first finding.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Strings are valid only during the callback; null or 0 if not known.
struct CuvmmSymbol {
  const char* function;  ///< demangled
  const char* module;    ///< path
  uint64_t offset;       ///< bytes from the module's load address
  const char* file;
  int line;
};

/// Calls `sink` at least once for each address, in order. Addresses are return addresses: the line
/// is the call's. Returns 0, or -1 without a callback if the process cannot be described. Only one
/// thread at a time may call it.
typedef int (*CuvmmSymbolizeFunction)(const uintptr_t* addresses, size_t count,
                                      void (*sink)(void* context, const struct CuvmmSymbol*),
                                      void* context);
int cuvmmSymbolize(const uintptr_t* addresses, size_t count,
                   void (*sink)(void* context, const struct CuvmmSymbol*), void* context);

/// cuvmmSymbolize() for a process that has ended, by the text of its /proc/PID/maps.
int cuvmmSymbolizeMaps(const char* maps, size_t bytes, const uintptr_t* addresses, size_t count,
                       void (*sink)(void* context, const struct CuvmmSymbol*), void* context);

#ifdef __cplusplus
}
#endif
