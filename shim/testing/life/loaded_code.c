// SPDX-License-Identifier: Apache-2.0
// Says that it was loaded: what a lesser user must not bring about in a set-user-ID program.
#include <stdio.h>

__attribute__((constructor)) static void say(void) { puts("loaded"); }
