// SPDX-License-Identifier: Apache-2.0
// A program that has no runtime and a function of its own with a name of the runtime's.
#include <stdio.h>

__attribute__((noinline)) int cudaGetDeviceCount(int* count) {
  *count = 77;
  return 5;
}

int main(void) {
  int count = 0;
  const int result = cudaGetDeviceCount(&count);
  printf("%d %d\n", result, count);
  return result == 5 && count == 77 ? 0 : 1;
}
