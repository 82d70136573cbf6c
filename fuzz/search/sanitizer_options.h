// SPDX-License-Identifier: Apache-2.0
// The options of AddressSanitizer in the programs of fuzz/. Must be included by the one file of
// each program that has main(), or the functions that an engine calls.
#pragma once

#ifdef __clang__
// malloc_context_size is 1, because unwinding for every allocation costs more than the calls. The
// quarantine keeps more memory than ten programs free; with a longer one, each allocation misses
// the caches. The leak check at exit is off, because clang 14's crashes on a library with
// thread-locals that was opened late.
// NOLINTNEXTLINE(bugprone-reserved-identifier,misc-definitions-in-headers): the sanitizer's name
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:malloc_context_size=1:quarantine_size_mb=2:"
         "thread_local_quarantine_size_kb=256";
}
#endif
