// SPDX-License-Identifier: Apache-2.0
// How AddressSanitizer runs in the programs of fuzz/. For the file of each that has its main, or
// the functions that an engine calls.
#pragma once

#ifdef __clang__
// Unwinding for every allocation costs more than the calls. What was freed is kept for more than
// ten programs; with a longer queue each allocation is out of the caches. The leak check at exit of
// clang 14 dies on a library with thread-locals that was opened late.
// NOLINTNEXTLINE(bugprone-reserved-identifier,misc-definitions-in-headers): the sanitizer's name
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:malloc_context_size=1:quarantine_size_mb=2:"
         "thread_local_quarantine_size_kb=256";
}
#endif
