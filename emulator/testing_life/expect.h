// SPDX-License-Identifier: Apache-2.0
// The checks of the programs in this folder: the first check that fails ends the program.
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
