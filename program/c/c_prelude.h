// SPDX-License-Identifier: Apache-2.0
// The helpers that a written C file may need. The writer adds only those that the file uses.
#pragma once

namespace cuvmm::program {

struct CHelper {
  const char* name;
  const char* text;
};

inline constexpr const char* kCIncludes = R"c(#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int different;
)c";

// Each helper needs only helpers before it.
inline constexpr CHelper kCHelpers[] = {
    {"check", R"c(
/* expected < 0: any answer will do. */
static void check(int line, const char* call, CUresult result, int expected) {
  const char* name = NULL;
  const int bad = expected >= 0 && (int)result != expected;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL) name = "unknown code";
  printf("line %d: %s: %s (%d)", line, call, name, (int)result);
  if (bad) printf(", expected %d", expected);
  printf("\n");
  fflush(stdout);
  different |= bad;
}
)c"},
    {"show", R"c(
static void show(int line, const char* call, uint64_t value) {
  printf("line %d: %s = %lld\n", line, call, (long long)value);
  fflush(stdout);
}
)c"},
    {"show_bytes", R"c(
static void show_bytes(int line, uint64_t address, uint64_t size) {
  const volatile unsigned char* bytes = (const volatile unsigned char*)(uintptr_t)address;
  printf("line %d: bytes = ", line);
  for (uint64_t i = 0; i < size; ++i) printf("%02x", bytes[i]);
  printf("\n");
  fflush(stdout);
}
)c"},
    {"host_buffer", R"c(
static uint64_t host_buffer(uint64_t size, uint64_t fill) {
  void* buffer = malloc(size ? size : 1);
  if (buffer == NULL) abort();
  memset(buffer, (int)fill, size);
  return (uint64_t)(uintptr_t)buffer;
}
)c"},
    {"low_bytes", R"c(
/* The number in the first bytes of an output without a type. */
static uint64_t low_bytes(const void* output, size_t size) {
  uint64_t value = 0;
  memcpy(&value, output, size);
  return value;
}
)c"},
    {"make_current", R"c(
static CUresult make_current(int device, uint64_t* made) {
  CUcontext context = NULL;
  CUresult result = cuDevicePrimaryCtxRetain(&context, device);
  if (result == CUDA_SUCCESS) result = cuCtxSetCurrent(context);
  if (result == CUDA_SUCCESS && made != NULL) *made = (uint64_t)(uintptr_t)context;
  return result;
}
)c"},
    {"init", R"c(
static CUresult init(int device) {
  const CUresult result = cuInit(0);
  return result == CUDA_SUCCESS ? make_current(device, NULL) : result;
}
)c"},
    {"memory_file", R"c(
static uint64_t memory_file(uint64_t size) {
  const int fd = memfd_create("cuvmm", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, (off_t)size) != 0) abort();
  return (uint64_t)(int64_t)fd;
}
)c"},
};

}  // namespace cuvmm::program
