// SPDX-License-Identifier: Apache-2.0
/* What nvcc makes of programs with kernels, by hand: fat binaries with PTX are registered, kernels
 * launched, and variables copied. Prints "right" if all results are. */
#include <stdint.h>
#include <stdio.h>

#include "emulator/runtime/testing/cudart.h"
#include "emulator/runtime/testing/fat_binary.h"

struct extent {
  unsigned x, y, z;
};
struct launch_config {
  struct extent grid, block;
  size_t shared;
  cudaStream_t stream;
  void* attributes;
  unsigned count;
};

#define FUNCTION(type, own, name, ...) type own(__VA_ARGS__) __asm__(#name)
FUNCTION(void**, register_binary, __cudaRegisterFatBinary, const void*);
FUNCTION(void, end_binary, __cudaUnregisterFatBinary, void**);
FUNCTION(void, register_function, __cudaRegisterFunction, void**, const void*, const char*,
         const char*, int, void*, void*, void*, void*, int*);
FUNCTION(void, register_variable, __cudaRegisterVar, void**, const void*, const char*, const char*,
         int, size_t, int, int);
FUNCTION(void, register_managed, __cudaRegisterManagedVar, void**, void**, const char*, const char*,
         int, size_t, int, int);
FUNCTION(char, init_module, __cudaInitModule, void**);
FUNCTION(int, get_kernel, __cudaGetKernel, void**, const void*);
FUNCTION(int, launch_kernel, __cudaLaunchKernel, void*, struct extent, struct extent, void**,
         size_t, cudaStream_t);
FUNCTION(int, launch, cudaLaunchKernel, const void*, struct extent, struct extent, void**, size_t,
         cudaStream_t);
FUNCTION(int, launch_together, cudaLaunchCooperativeKernel, const void*, struct extent,
         struct extent, void**, size_t, cudaStream_t);
FUNCTION(int, launch_ex, cudaLaunchKernelExC, const struct launch_config*, const void*, void**);
FUNCTION(int, kernel_of, cudaGetKernel, void**, const void*);
FUNCTION(int, to_symbol, cudaMemcpyToSymbol, const void*, const void*, size_t, size_t, int);
FUNCTION(int, from_symbol, cudaMemcpyFromSymbol, void*, const void*, size_t, size_t, int);
FUNCTION(int, symbol_address, cudaGetSymbolAddress, void**, const void*);
FUNCTION(int, symbol_size, cudaGetSymbolSize, size_t*, const void*);
FUNCTION(int, blocks_of, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int*, const void*, int,
         size_t);
FUNCTION(int, clusters_of, cudaOccupancyMaxActiveClusters, int*, const void*,
         const struct launch_config*);
FUNCTION(int, cluster_size_of, cudaOccupancyMaxPotentialClusterSize, int*, const void*,
         const struct launch_config*);
FUNCTION(int, set_attribute, cudaFuncSetAttribute, const void*, int, int);
FUNCTION(int, attributes_of, cudaFuncGetAttributes, void*, const void*);

/* out[i] = i * factor + offset, where `factor` is a constant and `offset` a managed variable. */
static const char kText[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".const .align 4 .u32 factor = 3;\n"
    ".global .attribute(.managed) .align 4 .u32 offset = 100;\n"
    ".visible .entry fill(.param .u64 out) {\n"
    " .reg .b32 %r<8>;\n .reg .b64 %d<4>;\n .shared .align 4 .b8 room[2048];\n"
    " ld.param.u64 %d0, [out];\n cvta.to.global.u64 %d0, %d0;\n"
    " mov.u32 %r0, %ctaid.x;\n mov.u32 %r1, %ntid.x;\n mov.u32 %r2, %tid.x;\n"
    " mad.lo.u32 %r3, %r0, %r1, %r2;\n mul.wide.u32 %d1, %r3, 4;\n add.u64 %d2, %d0, %d1;\n"
    " ld.const.u32 %r4, [factor];\n ld.global.u32 %r5, [offset];\n"
    " mad.lo.u32 %r6, %r3, %r4, %r5;\n st.global.u32 [%d2], %r6;\n ret;\n}\n"
    ".visible .entry lacks() {\n .reg .b32 %r;\n nosuch.b32 %r, %r;\n ret;\n}\n";

/* The program's names of the kernel and the variables. */
static char fill, other, factor, unknown, lacks;
static unsigned* offset;

enum { kThreads = 32, kBlocks = 2, kCount = kThreads * kBlocks };
static const struct extent kGrid = {kBlocks, 1, 1}, kBlock = {kThreads, 1, 1};

#define REQUIRE(condition)                                                      \
  do {                                                                          \
    if (!(condition)) return fprintf(stderr, "%d: %s\n", __LINE__, #condition); \
  } while (0)

/* Whether the device's memory is what a launch with these values makes, and makes it zero. */
static int is_filled(unsigned* memory, unsigned by, unsigned from) {
  unsigned host[kCount];
  if (cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost) != 0) return 0;
  if (cudaMemset(memory, 0, sizeof host) != 0) return 0;
  for (unsigned i = 0; i < kCount; ++i) {
    if (host[i] != i * by + from) return 0;
  }
  return 1;
}

enum { kTooLarge = 720 };
static void** arguments_of(unsigned** memory) {
  static void* arguments[1];
  arguments[0] = memory;
  return arguments;
}

static int launches(unsigned* memory) {
  void *kernel = 0, *handle = 0, *arguments[] = {&memory};
  REQUIRE(launch(&fill, kGrid, kBlock, arguments, 0, 0) == 0 && is_filled(memory, 3, 100));
  REQUIRE(get_kernel(&kernel, &fill) == 0);
  REQUIRE(launch_kernel(kernel, kGrid, kBlock, arguments, 0, 0) == 0);
  REQUIRE(is_filled(memory, 3, 100));
  REQUIRE(kernel_of(&handle, &fill) == 0);
  REQUIRE(launch(handle, kGrid, kBlock, arguments, 0, 0) == 0 && is_filled(memory, 3, 100));
  REQUIRE(launch_together(&fill, kGrid, kBlock, arguments, 0, 0) == 0);
  REQUIRE(is_filled(memory, 3, 100));
  const struct launch_config config = {kGrid, kBlock, 0, 0, 0, 0};
  REQUIRE(launch_ex(&config, &fill, arguments) == 0 && is_filled(memory, 3, 100));
  return 0;
}

/* Launches that a driver refuses, by the code of each. */
static int refusals(unsigned* memory) {
  enum { kInvalidConfiguration = 9, kInvalidDeviceFunction = 98, kLarge = 100 << 10 };
  const struct extent none = {1, 0, 1}, large = {1025, 1, 1};
  void* arguments[] = {&memory};
  REQUIRE(launch(&fill, kGrid, none, arguments, 0, 0) == kInvalidConfiguration);
  REQUIRE(launch(&fill, kGrid, large, arguments, 0, 0) == kInvalidConfiguration);
  REQUIRE(launch(0, kGrid, kBlock, arguments, 0, 0) == kInvalidDeviceFunction);
  REQUIRE(launch(&other, kGrid, kBlock, arguments, 0, 0) == kInvalidDeviceFunction);
  REQUIRE(launch(&fill, kGrid, kBlock, arguments, kLarge, 0) == cudaErrorInvalidValue);
  enum { kDynamicSharedBytes = 8 };
  REQUIRE(set_attribute(&fill, kDynamicSharedBytes, kLarge) == 0);
  REQUIRE(launch(&fill, kGrid, kBlock, arguments, kLarge, 0) == 0);
  return is_filled(memory, 3, 100) ? 0 : 1;
}

static int variables(unsigned* memory) {
  enum { kToDevice = 1, kFromDevice = 2, kInvalidSymbol = 13 };
  void *address = 0, *arguments[] = {&memory};
  const unsigned five = 5;
  unsigned got = 0;
  size_t size = 0;
  REQUIRE(from_symbol(&got, &factor, sizeof got, 0, kFromDevice) == 0 && got == 3);
  REQUIRE(to_symbol(&factor, &five, sizeof five, 0, kToDevice) == 0);
  *offset = 7;
  REQUIRE(launch(&fill, kGrid, kBlock, arguments, 0, 0) == 0 && is_filled(memory, 5, 7));
  REQUIRE(symbol_size(&size, &factor) == 0 && size == sizeof five);
  REQUIRE(symbol_address(&address, &factor) == 0);
  REQUIRE(cudaMemcpy(&got, address, sizeof got, cudaMemcpyDeviceToHost) == 0 && got == 5);
  REQUIRE(symbol_address(&address, &offset) == 0 && address == (void*)offset);
  REQUIRE(symbol_address(&address, &unknown) == kInvalidSymbol);
  REQUIRE(to_symbol(&factor, &five, sizeof five, 4, kToDevice) == cudaErrorInvalidValue);
  return 0;
}

static int questions(void) {
  struct {
    size_t shared, constant, local;
    int threads, registers, ptx, code, cache, dynamic, carveout, rest[64];
  } of;
  int blocks = 0, fewer = 0;
  REQUIRE(attributes_of(&of, &fill) == 0);
  REQUIRE(of.shared == 2048 && of.ptx == 52 && of.threads == 1024 && of.registers > 0);
  REQUIRE(blocks_of(&blocks, &fill, 256, 0) == 0 && blocks >= 1);
  REQUIRE(blocks_of(&fewer, &fill, 256, 100 << 10) == 0 && fewer >= 1 && fewer < blocks);
  struct {
    int id, rest;
    unsigned value[16];
  } cluster = {4, 0, {2, 1, 1}};
  const int kInvalidClusterSize = 912;
  const struct launch_config config = {kGrid, kBlock, 0, 0, &cluster, 1};
  REQUIRE(clusters_of(&blocks, &fill, &config) == 0 && blocks >= 1);
  REQUIRE(cluster_size_of(&blocks, &fill, &config) == 0 && blocks >= 2);
  cluster.value[0] = 3;
  REQUIRE(clusters_of(&blocks, &fill, &config) == kInvalidClusterSize);
  return 0;
}

/* A fault of a kernel is answered by each later call. A reset does not give the device back. */
static int faults(void) {
  const int kIllegalAddress = 700;
  unsigned* nowhere = (unsigned*)64;
  void *arguments[] = {&nowhere}, *memory = 0;
  REQUIRE(launch(&fill, kGrid, kBlock, arguments, 0, 0) == 0);
  for (int i = 0; i < 2; ++i) REQUIRE(cudaDeviceSynchronize() == kIllegalAddress);
  REQUIRE(cudaMalloc(&memory, 8) == kIllegalAddress && cudaGetLastError() == kIllegalAddress);
  REQUIRE(cudaDeviceReset() == 0 && cudaMalloc(&memory, 8) != 0);
  return 0;
}

/* `<<<>>>` drops the result of its launch, so a launch that is refused is also the answer of the
 * next call, unless the program asks for it before that. */
static int refused_kernels(void) {
  const int kNotSupported = 801;
  unsigned* memory = 0;
  REQUIRE(cudaMalloc((void**)&memory, kCount * sizeof *memory) == 0);
  REQUIRE(launch(&lacks, kGrid, kBlock, 0, 0, 0) == kNotSupported);
  REQUIRE(launch(&fill, kGrid, kBlock, arguments_of(&memory), 0, 0) == 0);
  REQUIRE(cudaDeviceSynchronize() == kNotSupported && cudaDeviceSynchronize() == 0);
  REQUIRE(is_filled(memory, 3, 100) && cudaFree(memory) == 0);
  REQUIRE(cudaGetLastError() == kNotSupported && cudaGetLastError() == 0);
  REQUIRE(launch(&lacks, kGrid, kBlock, 0, 0, 0) == kNotSupported);
  REQUIRE(cudaGetLastError() == kNotSupported && cudaDeviceSynchronize() == 0);
  return 0;
}

int main(int count, char** words) {
  static struct fat_binary binary;
  static struct fat_wrapper wrapper;
  add_code(&binary, kPtx, 52, kText);
  wrap(&wrapper, &binary);
  void** handle = register_binary(&wrapper);
  register_function(handle, &fill, "fill", "fill", -1, 0, 0, 0, 0, 0);
  register_function(handle, &other, "other", "other", -1, 0, 0, 0, 0, 0);
  register_function(handle, &lacks, "lacks", "lacks", -1, 0, 0, 0, 0, 0);
  register_variable(handle, &factor, "factor", "factor", 0, sizeof(unsigned), 1, 0);
  register_managed(handle, (void**)&offset, "offset", "offset", 0, sizeof(unsigned), 0, 1);
  REQUIRE(init_module(handle) == 1 && offset && *offset == 100);
  if (count > 1 && strcmp(words[1], "faults") == 0) return faults() != 0;
  if (count > 1 && strcmp(words[1], "refused") == 0) return refused_kernels() != 0;
  unsigned* memory = 0;
  REQUIRE(cudaMalloc((void**)&memory, kCount * sizeof *memory) == 0);
  REQUIRE(launch_together(&fill, (struct extent){100000, 1, 1}, kBlock, arguments_of(&memory), 0,
                          0) == kTooLarge);
  if (launches(memory) != 0 || refusals(memory) != 0 || questions() != 0) return 1;
  if (variables(memory) != 0) return 1;
  REQUIRE(cudaFree(memory) == 0);
  end_binary(handle);
  puts("right");
  return 0;
}
