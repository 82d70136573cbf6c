// SPDX-License-Identifier: Apache-2.0
/* A program with DT_RPATH to a libcudart that does not work here. */
#include <stdio.h>

int cudaGetDeviceCount(int* count);

int main(void) {
  int count = 0;
  const int error = cudaGetDeviceCount(&count);
  printf("%d %d\n", error, count);
  return 0;
}
