// SPDX-License-Identifier: Apache-2.0
// A program without a runtime, linked with a library that has one inside.
#include <stdio.h>

int plugin_calls(void);

int main(void) {
  if (plugin_calls() != 0) return 1;
  puts("all calls were answered");
  return 0;
}
