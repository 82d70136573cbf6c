/* Written by cuvmm to-c from ./shrunk.cuvmm. Build: cc program.c -lcuda */
#define _GNU_SOURCE
#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int different;

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

static uint64_t host_buffer(uint64_t size, uint64_t fill) {
  void* buffer = malloc(size ? size : 1);
  if (buffer == NULL) abort();
  memset(buffer, (int)fill, size);
  return (uint64_t)(uintptr_t)buffer;
}

/* The number in the first bytes of an output without a type. */
static uint64_t low_bytes(const void* output, size_t size) {
  uint64_t value = 0;
  memcpy(&value, output, size);
  return value;
}

static CUresult make_current(int device, uint64_t* made) {
  CUcontext context = NULL;
  CUresult result = cuDevicePrimaryCtxRetain(&context, device);
  if (result == CUDA_SUCCESS) result = cuCtxSetCurrent(context);
  if (result == CUDA_SUCCESS && made != NULL) *made = (uint64_t)(uintptr_t)context;
  return result;
}

static CUresult init(int device) {
  const CUresult result = cuInit(0);
  return result == CUDA_SUCCESS ? make_current(device, NULL) : result;
}

int main(void) {
  uint64_t v_d1 = 0;
  uint64_t v_o1 = 0;
  uint64_t v_o2 = 0;
  uint64_t v_r3 = 0;
  uint64_t v_r4 = 0;
  uint64_t v_s1 = 0;

  /* line 2: init() */
  {
    check(2, "init", init((int)0), -1);
  }

  /* line 3: o2 = cuMemPoolCreate({allocType=pinned, location=host_numa0})  # CUDA_SUCCESS */
  {
    CUmemoryPool pool;
    memset(&pool, 0, sizeof pool);
    CUmemPoolProps poolProps;
    memset(&poolProps, 0, sizeof poolProps);
    poolProps.allocType = (uint64_t)CU_MEM_ALLOCATION_TYPE_PINNED;
    poolProps.location.type = (CUmemLocationType)3;
    poolProps.location.id = 0;
    const CUresult result = cuMemPoolCreate(&pool, &poolProps);
    if (result == CUDA_SUCCESS) v_o2 = (uint64_t)(uintptr_t)pool;
    check(3, "cuMemPoolCreate", result, 0);
  }

  /* line 4: cuMemPoolDestroy(o2)  # CUDA_SUCCESS */
  {
    const CUresult result = cuMemPoolDestroy((CUmemoryPool)(uintptr_t)v_o2);
    check(4, "cuMemPoolDestroy", result, 0);
  }

  /* line 5: o1 = cuMemPoolCreate({allocType=pinned, handleTypes=posix_fd, location=device0})  # CUDA_SUCCESS */
  {
    CUmemoryPool pool;
    memset(&pool, 0, sizeof pool);
    CUmemPoolProps poolProps;
    memset(&poolProps, 0, sizeof poolProps);
    poolProps.allocType = (uint64_t)CU_MEM_ALLOCATION_TYPE_PINNED;
    poolProps.handleTypes = (uint64_t)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    poolProps.location.type = (CUmemLocationType)1;
    poolProps.location.id = 0;
    const CUresult result = cuMemPoolCreate(&pool, &poolProps);
    if (result == CUDA_SUCCESS) v_o1 = (uint64_t)(uintptr_t)pool;
    check(5, "cuMemPoolCreate", result, 0);
  }

  /* line 6: r3 = cuMemAllocFromPoolAsync(2M, o1)  # CUDA_SUCCESS */
  {
    CUdeviceptr dptr;
    memset(&dptr, 0, sizeof dptr);
    const CUresult result = cuMemAllocFromPoolAsync(&dptr, (size_t)0x200000ull, (CUmemoryPool)(uintptr_t)v_o1, (CUstream)0);
    if (result == CUDA_SUCCESS) v_r3 = (uint64_t)(uintptr_t)dptr;
    check(6, "cuMemAllocFromPoolAsync", result, 0);
  }

  /* line 7: d1 = cuMemPoolExportToShareableHandle(o1, posix_fd)  # CUDA_SUCCESS */
  {
    unsigned char handle_out[64] = {0};
    const CUresult result = cuMemPoolExportToShareableHandle(handle_out, (CUmemoryPool)(uintptr_t)v_o1, (CUmemAllocationHandleType)(uint64_t)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, (unsigned long long)0);
    if (result == CUDA_SUCCESS) v_d1 = low_bytes(handle_out, 4);
    check(7, "cuMemPoolExportToShareableHandle", result, 0);
  }

  /* line 8: s1 = cuMemPoolExportPointer(r3)  # CUDA_SUCCESS */
  {
    static CUmemPoolPtrExportData shareData_out;
    memset(&shareData_out, 0, sizeof shareData_out);
    const CUresult result = cuMemPoolExportPointer(&shareData_out, (CUdeviceptr)v_r3);
    if (result == CUDA_SUCCESS) v_s1 = (uint64_t)(uintptr_t)&shareData_out;
    check(8, "cuMemPoolExportPointer", result, 0);
  }

  /* line 9: r4 = cuMemPoolImportPointer(o2, s1)  # CUDA_SUCCESS !cuMemPoolImportPointer-pool-alive */
  {
    CUdeviceptr ptr_out;
    memset(&ptr_out, 0, sizeof ptr_out);
    CUmemPoolPtrExportData shareData;
    memset(&shareData, 0, sizeof shareData);
    memcpy(&shareData, (const void*)(uintptr_t)v_s1, sizeof shareData);
    const CUresult result = cuMemPoolImportPointer(&ptr_out, (CUmemoryPool)(uintptr_t)v_o2, &shareData);
    if (result == CUDA_SUCCESS) v_r4 = (uint64_t)(uintptr_t)ptr_out;
    check(9, "cuMemPoolImportPointer", result, 0);
  }

  /* line 10: cuMemcpyHtoD(r4, host(1, fill=0), 1)  # CUDA_SUCCESS !data-pool-on-host */
  {
    const CUresult result = cuMemcpyHtoD((CUdeviceptr)v_r4, (const void*)(uintptr_t)host_buffer(1u, 0u), (size_t)1u);
    check(10, "cuMemcpyHtoD", result, 0);
  }

  return different;
}
