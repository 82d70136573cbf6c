// SPDX-License-Identifier: Apache-2.0
// The functions of the stand-in for libcudart that the tests call: names that the shim wraps, and
// cudaFree.
#pragma once

struct RuntimeIpcHandle {
  char bytes[64];
};

inline int by_value_sum(const RuntimeIpcHandle& handle) {
  int sum = 0;
  for (const char byte : handle.bytes) sum += byte;
  return sum;
}

extern "C" {
int cudaFree(void* pointer);                                                        ///< misuse
int cudaDestroyExternalMemory(void* memory);                                        ///< misuse
int cudaIpcOpenMemHandle(void** pointer, RuntimeIpcHandle handle, unsigned flags);  ///< the sum of
                                                                                    ///< the bytes
int cudaIpcCloseMemHandle(void* pointer);  ///< the stand-in's major version
}
