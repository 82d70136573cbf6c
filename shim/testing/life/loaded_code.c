// SPDX-License-Identifier: Apache-2.0
// Prints that it was loaded: a user with fewer rights must not cause that in a set-user-ID program.
#include <stdio.h>

__attribute__((constructor)) static void say(void) { puts("loaded"); }
