// SPDX-License-Identifier: Apache-2.0
// The functions of libcublas that copy vectors and matrices between the host and the device.
#include <dlfcn.h>

#include "emulator/base/export.h"
#include "emulator/blas/kernels.h"

namespace cuvmm::blas {

namespace {

/// Columns of `width` bytes, each so many bytes behind the one before.
struct Columns {
  const void* first;
  long long between;
};

Status copy(long long width, long long count, Columns from, Columns to, bool to_device,
            const CUstream* stream) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);  // never closed
  static const auto now = reinterpret_cast<decltype(&cuMemcpy2DUnaligned)>(
      library ? dlsym(library, "cuMemcpy2DUnaligned_v2") : nullptr);
  static const auto queued = reinterpret_cast<decltype(&cuMemcpy2DAsync)>(
      library ? dlsym(library, "cuMemcpy2DAsync_v2") : nullptr);
  if (width < 0 || count < 0 || from.between < width || to.between < width) return kInvalidValue;
  if (width == 0 || count == 0) return kSuccess;
  if (start() != kSuccess || !now || !queued) return kNotInitialized;
  need_context();
  CUDA_MEMCPY2D plan{};
  plan.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  plan.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  plan.srcHost = to_device ? from.first : nullptr;
  plan.srcDevice = to_device ? 0 : reinterpret_cast<CUdeviceptr>(from.first);
  plan.dstHost = to_device ? nullptr : const_cast<void*>(to.first);
  plan.dstDevice = to_device ? reinterpret_cast<CUdeviceptr>(to.first) : 0;
  plan.srcPitch = static_cast<std::size_t>(from.between);
  plan.dstPitch = static_cast<std::size_t>(to.between);
  plan.WidthInBytes = static_cast<std::size_t>(width);
  plan.Height = static_cast<std::size_t>(count);
  return (stream ? queued(&plan, *stream) : now(&plan)) == CUDA_SUCCESS ? kSuccess : kMappingError;
}

}  // namespace

// clang-format off
#define CUVMM_BLAS_COPIES(end, Int, name, to_device) \
  CUVMM_EXPORT(Status, cublas##name##Vector##end, Int count, Int bytes, const void* x, Int incx, \
  void* y, Int incy) { \
  return copy(bytes, count, {x, 1LL * incx * bytes}, {y, 1LL * incy * bytes}, to_device, \
  nullptr); \
  } \
  CUVMM_EXPORT(Status, cublas##name##VectorAsync##end, Int count, Int bytes, const void* x, \
  Int incx, void* y, Int incy, CUstream stream) { \
  return copy(bytes, count, {x, 1LL * incx * bytes}, {y, 1LL * incy * bytes}, to_device, \
  &stream); \
  } \
  CUVMM_EXPORT(Status, cublas##name##Matrix##end, Int rows, Int columns, Int bytes, const void* a, \
  Int lda, void* b, Int ldb) { \
  return copy(1LL * rows * bytes, columns, {a, 1LL * lda * bytes}, {b, 1LL * ldb * bytes}, \
  to_device, nullptr); \
  } \
  CUVMM_EXPORT(Status, cublas##name##MatrixAsync##end, Int rows, Int columns, Int bytes, \
  const void* a, Int lda, void* b, Int ldb, CUstream stream) { \
  return copy(1LL * rows * bytes, columns, {a, 1LL * lda * bytes}, {b, 1LL * ldb * bytes}, \
  to_device, &stream); \
  }
// clang-format on
CUVMM_BLAS_COPIES(, int, Set, true)
CUVMM_BLAS_COPIES(, int, Get, false)
CUVMM_BLAS_COPIES(_64, long long, Set, true)
CUVMM_BLAS_COPIES(_64, long long, Get, false)

}  // namespace cuvmm::blas
