// SPDX-License-Identifier: Apache-2.0
/* Memory and arrays of three dimensions, and graphs whose nodes a program adds. Prints "right" if
 * all results are. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emulator/runtime/testing/cudart.h"
#include "emulator/runtime/testing/fat_binary.h"

struct pitched {
  void* pointer;
  size_t pitch, width, height;
};
struct volume {
  size_t width, height, depth;
};
struct copy {
  void* from_array;
  size_t from_position[3];
  struct pitched from;
  void* to_array;
  size_t to_position[3];
  struct pitched to;
  struct volume extent;
  int kind;
};
struct format {
  int bits[4], kind;
};
struct kernel_node {
  const void* function;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
};
struct fill_node {
  void* target;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width, height;
};

#define FUNCTION(type, own, name, ...) type own(__VA_ARGS__) __asm__(#name)
FUNCTION(int, malloc_3d, cudaMalloc3D, struct pitched*, struct volume);
FUNCTION(int, memset_3d, cudaMemset3D, struct pitched, int, struct volume);
FUNCTION(int, memcpy_3d, cudaMemcpy3D, const struct copy*);
FUNCTION(int, malloc_array, cudaMallocArray, void**, const struct format*, size_t, size_t,
         unsigned);
FUNCTION(int, malloc_array_3d, cudaMalloc3DArray, void**, const struct format*, struct volume,
         unsigned);
FUNCTION(int, free_array, cudaFreeArray, void*);
FUNCTION(int, array_info, cudaArrayGetInfo, struct format*, struct volume*, unsigned*, void*);
FUNCTION(int, rows_to_array, cudaMemcpy2DToArray, void*, size_t, size_t, const void*, size_t,
         size_t, size_t, int);
FUNCTION(int, rows_from_array, cudaMemcpy2DFromArray, void*, size_t, void*, size_t, size_t, size_t,
         size_t, int);
FUNCTION(int, to_array, cudaMemcpyToArray, void*, size_t, size_t, const void*, size_t, int);
FUNCTION(int, from_array, cudaMemcpyFromArray, void*, void*, size_t, size_t, size_t, int);
FUNCTION(void**, register_binary, __cudaRegisterFatBinary, const void*);
FUNCTION(void, register_function, __cudaRegisterFunction, void**, const void*, const char*,
         const char*, int, void*, void*, void*, void*, int*);
FUNCTION(int, new_graph, cudaGraphCreate, void**, unsigned);
FUNCTION(int, add_kernel, cudaGraphAddKernelNode, void**, void*, void* const*, size_t,
         const struct kernel_node*);
FUNCTION(int, change_kernel, cudaGraphExecKernelNodeSetParams, void*, void*,
         const struct kernel_node*);
FUNCTION(int, add_fill, cudaGraphAddMemsetNode, void**, void*, void* const*, size_t,
         const struct fill_node*);
FUNCTION(int, add_copy, cudaGraphAddMemcpyNode1D, void**, void*, void* const*, size_t, void*,
         const void*, size_t, int);
FUNCTION(int, instantiate, cudaGraphInstantiate, void**, void*, unsigned long long);
FUNCTION(int, launch_graph, cudaGraphLaunch, void*, cudaStream_t);
FUNCTION(int, end_executable, cudaGraphExecDestroy, void*);
FUNCTION(int, end_graph, cudaGraphDestroy, void*);

#define REQUIRE(condition)                                                      \
  do {                                                                          \
    if (!(condition)) return fprintf(stderr, "%d: %s\n", __LINE__, #condition); \
  } while (0)

enum { kWidth = 5, kHeight = 4, kDepth = 3, kToDevice = 1, kFromDevice = 2 };
static int given[kDepth][kHeight][kWidth], got[kDepth][kHeight][kWidth];

static struct pitched on_host(void* memory) {
  return (struct pitched){memory, kWidth * sizeof(int), kWidth, kHeight};
}

static int volumes(void) {
  const struct volume bytes = {kWidth * sizeof(int), kHeight, kDepth};
  struct pitched memory;
  REQUIRE(malloc_3d(&memory, bytes) == 0 && memory.pitch >= bytes.width);
  struct copy in = {.from = on_host(given), .to = memory, .extent = bytes, .kind = kToDevice};
  struct copy out = {.from = memory, .to = on_host(got), .extent = bytes, .kind = kFromDevice};
  REQUIRE(memcpy_3d(&in) == 0 && memcpy_3d(&out) == 0);
  REQUIRE(memcmp(given, got, sizeof got) == 0);
  REQUIRE(memset_3d(memory, 1, (struct volume){4, 2, 2}) == 0 && memcpy_3d(&out) == 0);
  REQUIRE(got[0][0][0] == 0x01010101 && got[1][1][0] == 0x01010101);
  REQUIRE(got[0][0][1] == given[0][0][1] && got[1][2][0] == given[1][2][0]);
  REQUIRE(got[2][0][0] == given[2][0][0]);
  in.from.pointer = NULL;
  REQUIRE(memcpy_3d(&in) == cudaErrorInvalidValue);
  return cudaFree(memory.pointer) != 0;
}

static int arrays(void) {
  const struct format integers = {{32, 0, 0, 0}, 0};
  const struct volume elements = {kWidth, kHeight, kDepth};
  struct format format;
  struct volume extent;
  void *array = NULL, *flat = NULL;
  unsigned flags = 9;
  REQUIRE(malloc_array_3d(&array, &integers, elements, 0) == 0);
  REQUIRE(array_info(&format, &extent, &flags, array) == 0 && flags == 0);
  REQUIRE(memcmp(&format, &integers, sizeof format) == 0 && extent.width == kWidth);
  struct copy in = {
      .from = on_host(given), .to_array = array, .extent = elements, .kind = kToDevice};
  struct copy out = {
      .from_array = array, .to = on_host(got), .extent = elements, .kind = kFromDevice};
  memset(got, 0, sizeof got);
  REQUIRE(memcpy_3d(&in) == 0 && memcpy_3d(&out) == 0 && memcmp(given, got, sizeof got) == 0);
  /* Positions count elements. */
  out.from_position[0] = 2;
  out.extent = (struct volume){1, 1, 1};
  REQUIRE(memcpy_3d(&out) == 0 && got[0][0][0] == given[0][0][2]);
  REQUIRE(malloc_array(&flat, &integers, kWidth, kHeight, 0) == 0);
  REQUIRE(rows_to_array(flat, 0, 0, given, 20, 20, kHeight, kToDevice) == 0);
  memset(got, 0, sizeof got);
  REQUIRE(rows_from_array(got, 20, flat, 4, 1, 12, 2, kFromDevice) == 0);
  REQUIRE(got[0][1][2] == given[0][2][3] && got[0][1][3] == 0);
  /* Bytes go on at the ends of rows. */
  memset(got, 0, sizeof got);
  REQUIRE(to_array(flat, 4, 0, given, 16 + 2 * 20 + 8, kToDevice) == 0);
  REQUIRE(from_array(got, flat, 4, 0, 16 + 2 * 20 + 8, kFromDevice) == 0);
  REQUIRE(memcmp(got, given, 16 + 2 * 20 + 8) == 0);
  REQUIRE(free_array(array) == 0 && free_array(flat) == 0 && free_array(NULL) == 0);
  return 0;
}

/* *to += by */
static const char kText[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 to, .param .u32 by) {\n"
    " .reg .b32 %r<3>;\n .reg .b64 %d<2>;\n ld.param.u64 %d0, [to];\n ld.param.u32 %r0, [by];\n"
    " ld.global.u32 %r1, [%d0];\n add.u32 %r2, %r1, %r0;\n st.global.u32 [%d0], %r2;\n ret;\n}\n";

static int nodes(void) {
  static struct fat_binary binary;
  static struct fat_wrapper wrapper;
  static char add;
  add_code(&binary, kPtx, 52, kText);
  wrap(&wrapper, &binary);
  register_function(register_binary(&wrapper), &add, "add", "add", -1, 0, 0, 0, 0, 0);
  unsigned *memory = NULL, by = 5, result = 0;
  REQUIRE(cudaMalloc((void**)&memory, sizeof *memory) == 0);
  void *graph, *fill, *first, *second, *copy, *executable, *arguments[] = {&memory, &by};
  const struct kernel_node kernel = {&add, {1, 1, 1}, {1, 1, 1}, 0, arguments, NULL};
  const struct fill_node zero = {memory, 0, 7, 4, 1, 1};
  REQUIRE(new_graph(&graph, 0) == 0);
  REQUIRE(add_fill(&fill, graph, NULL, 0, &zero) == 0);
  REQUIRE(add_kernel(&first, graph, &fill, 1, &kernel) == 0);
  by = 6;
  REQUIRE(add_kernel(&second, graph, &first, 1, &kernel) == 0);
  REQUIRE(add_copy(&copy, graph, &second, 1, &result, memory, 4, kFromDevice) == 0);
  REQUIRE(instantiate(&executable, graph, 0) == 0 && launch_graph(executable, 0) == 0);
  REQUIRE(cudaDeviceSynchronize() == 0 && result == 18);
  by = 100;
  REQUIRE(change_kernel(executable, first, &kernel) == 0 && launch_graph(executable, 0) == 0);
  REQUIRE(cudaDeviceSynchronize() == 0 && result == 113);
  REQUIRE(end_executable(executable) == 0 && end_graph(graph) == 0 && cudaFree(memory) == 0);
  return 0;
}

/* cudaMemAllocNodeParams. */
struct allocation {
  int kind, handles, place_kind, place;
  void* unused;
  size_t most;
  char rest[56];
  const void* access;
  size_t accesses, bytes;
  void* memory;
};
FUNCTION(int, add_allocation, cudaGraphAddMemAllocNode, void**, void*, void* const*, size_t,
         struct allocation*);
FUNCTION(int, allocation_of, cudaGraphMemAllocNodeGetParams, void*, struct allocation*);
FUNCTION(int, add_free, cudaGraphAddMemFreeNode, void**, void*, void* const*, size_t, void*);
FUNCTION(int, freed_by, cudaGraphMemFreeNodeGetParams, void*, void**);
FUNCTION(int, add_record, cudaGraphAddEventRecordNode, void**, void*, void* const*, size_t,
         cudaEvent_t);
FUNCTION(int, add_wait, cudaGraphAddEventWaitNode, void**, void*, void* const*, size_t,
         cudaEvent_t);

static int memory_nodes(void) {
  enum { kPinned = 1, kDevice = 1 };
  struct allocation asked, got;
  memset(&asked, 0, sizeof asked);
  asked.kind = kPinned;
  asked.place_kind = kDevice;
  asked.bytes = 4096;
  void *graph, *allocate, *fill, *copy, *end, *record, *wait, *executable, *freed = NULL;
  unsigned result = 0;
  cudaEvent_t event = NULL;
  REQUIRE(new_graph(&graph, 0) == 0 && cudaEventCreate(&event) == 0);
  REQUIRE(add_allocation(&allocate, graph, NULL, 0, &asked) == 0 && asked.memory != NULL);
  REQUIRE(allocation_of(allocate, &got) == 0 && got.memory == asked.memory && got.bytes == 4096);
  const struct fill_node sevens = {asked.memory, 0, 7, 4, 1, 1};
  REQUIRE(add_fill(&fill, graph, &allocate, 1, &sevens) == 0);
  REQUIRE(add_record(&record, graph, &fill, 1, event) == 0);
  REQUIRE(add_wait(&wait, graph, &record, 1, event) == 0);
  REQUIRE(add_copy(&copy, graph, &wait, 1, &result, asked.memory, 4, kFromDevice) == 0);
  REQUIRE(add_free(&end, graph, &copy, 1, asked.memory) == 0);
  REQUIRE(freed_by(end, &freed) == 0 && freed == asked.memory);
  REQUIRE(instantiate(&executable, graph, 0) == 0 && launch_graph(executable, 0) == 0);
  REQUIRE(cudaDeviceSynchronize() == 0 && result == 7);
  REQUIRE(end_executable(executable) == 0 && end_graph(graph) == 0);
  REQUIRE(cudaEventDestroy(event) == 0);
  return 0;
}

FUNCTION(int, choose_device, cudaChooseDevice, int*, const void*);
FUNCTION(int, get_cache, cudaDeviceGetCacheConfig, int*);
FUNCTION(int, set_cache, cudaDeviceSetCacheConfig, int);
FUNCTION(int, get_banks, cudaDeviceGetSharedMemConfig, int*);
FUNCTION(int, range_attribute, cudaMemRangeGetAttribute, void*, size_t, int, const void*, size_t);
FUNCTION(int, malloc_managed, cudaMallocManaged, void**, size_t, unsigned);
FUNCTION(int, set_stream, cudaStreamSetAttribute, cudaStream_t, int, const void*);
FUNCTION(int, get_stream, cudaStreamGetAttribute, cudaStream_t, int, void*);

static int settings(void) {
  static const char any_device[2048];
  enum { kReadMostly = 1, kPriority = 8, kSyncPolicy = 3, kYield = 3 };
  int number = 9, value[32] = {kYield}, got_value[32] = {0};
  void* managed = NULL;
  cudaStream_t stream = NULL;
  REQUIRE(choose_device(&number, any_device) == 0 && number == 0);
  REQUIRE(set_cache(1) == 0 && get_cache(&number) == 0 && number == 1 && get_banks(&number) == 0 &&
          number == 1);
  REQUIRE(malloc_managed(&managed, 64, 1) == 0);
  number = 9;
  REQUIRE(range_attribute(&number, sizeof number, kReadMostly, managed, 64) == 0 && number == 0);
  REQUIRE(cudaFree(managed) == 0 && cudaStreamCreate(&stream) == 0);
  REQUIRE(set_stream(stream, kSyncPolicy, value) == 0);
  REQUIRE(get_stream(stream, kSyncPolicy, got_value) == 0 && got_value[0] == kYield);
  return cudaStreamDestroy(stream) != 0;
}

int main(void) {
  for (int i = 0; i < kWidth * kHeight * kDepth; ++i) (&given[0][0][0])[i] = i * i + 1;
  if (volumes() != 0 || arrays() != 0 || nodes() != 0 || memory_nodes() != 0 || settings() != 0)
    return 1;
  puts("right");
  return 0;
}
