// SPDX-License-Identifier: Apache-2.0
// How the programs of this folder check: the first thing that is not so ends them.
#pragma once

#include <unistd.h>

#include <cstdio>

#define EXPECT(condition)                                                          \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                                    \
    }                                                                              \
  } while (0)
