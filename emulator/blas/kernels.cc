// SPDX-License-Identifier: Apache-2.0
#include "emulator/blas/kernels.h"

#include <dlfcn.h>

#include <cstring>

namespace cuvmm::blas {

namespace {

/// The functions of the driver.
struct Functions {
  decltype(&cuModuleLoadData) load = nullptr;
  decltype(&cuModuleUnload) unload = nullptr;
  decltype(&cuModuleGetFunction) find = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
  decltype(&cuCtxGetCurrent) current = nullptr;
  decltype(&cuCtxSetCurrent) make_current = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;
  decltype(&cuMemcpyDtoHAsync) copy = nullptr;
  decltype(&cuStreamSynchronize) wait = nullptr;
};

template <class Function>
void take(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

const Functions& functions() {
  static const Functions known = [] {
    Functions found;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);  // never closed
    if (!library) return found;
    take(library, "cuModuleLoadData", found.load);
    take(library, "cuModuleUnload", found.unload);
    take(library, "cuModuleGetFunction", found.find);
    take(library, "cuLaunchKernel", found.launch);
    take(library, "cuCtxGetCurrent", found.current);
    take(library, "cuCtxSetCurrent", found.make_current);
    take(library, "cuDevicePrimaryCtxRetain", found.retain);
    take(library, "cuMemAlloc_v2", found.allocate);
    take(library, "cuMemFree_v2", found.free);
    take(library, "cuMemcpyDtoHAsync_v2", found.copy);
    take(library, "cuStreamSynchronize", found.wait);
    return found;
  }();
  return known;
}

// The kernel in the current context, for which the handle keeps the last module of each pair of
// elements.
CUfunction kernel(Handle& handle, const char* name, Element in, Element out) {
  const Functions& driver = functions();
  const bool mixed = in != out;
  Handle::Loaded& loaded = handle.loaded[static_cast<int>(in) + (mixed ? 2 : 0)];
  CUcontext context = nullptr;
  CUfunction function = nullptr;
  need_context();
  if (has_skipped() || !driver.wait || driver.current(&context) != CUDA_SUCCESS || !context)
    return nullptr;
  if (!loaded.module || loaded.context != context) {
    loaded = {};
    if (driver.load(&loaded.module, kernel_text(in, out).c_str()) != CUDA_SUCCESS) return nullptr;
    loaded.context = context;
  }
  return driver.find(&function, loaded.module, name) == CUDA_SUCCESS ? function : nullptr;
}

template <class Number>
CUfunction kernel(Handle& handle, const char* name) {
  return kernel(handle, name, kNative<Number>, kNative<Number>);
}

// A factor as the kernels take it.
template <class Number>
struct Passed {
  Passed(const Handle& handle, Factor factor) {
    constexpr int kOfDevice = 1;
    if (handle.pointer_mode == kOfDevice) {
      at = reinterpret_cast<CUdeviceptr>(factor);
    } else {
      std::memcpy(&value, factor, sizeof value);
    }
  }
  CUdeviceptr at = 0;
  Number value = 0;
};

Status launch(Handle& handle, CUfunction function, long long threads, int batch, void** parameters,
              unsigned block = 128) {
  const auto blocks = static_cast<unsigned>((threads + block - 1) / block);
  const CUresult result = functions().launch(function, blocks, static_cast<unsigned>(batch), 1,
                                             block, 1, 1, 0, handle.stream, parameters, nullptr);
  return result == CUDA_SUCCESS ? kSuccess : kExecutionFailed;
}

}  // namespace

namespace {

// The distances as the kernels take them, in bytes.
Matrix in_bytes(Matrix matrix, Element element) {
  matrix.between_rows *= size_of(element);
  matrix.between_columns *= size_of(element);
  matrix.between_matrices *= size_of(element);
  return matrix;
}

}  // namespace

void need_context() noexcept {
  const Functions& driver = functions();
  CUcontext context = nullptr;
  if (!driver.wait || driver.current(&context) != CUDA_SUCCESS || context) return;
  if (driver.retain(&context, 0) == CUDA_SUCCESS) driver.make_current(context);
}

template <class Number>
Status multiply(Handle& handle, const char* name, const Product<Number>& product) {
  if (product.rows == 0 || product.columns == 0 || product.batch == 0) return kSuccess;
  if (!product.alpha || !product.beta) return kInvalidValue;
  CUfunction function = kernel(handle, "multiply", product.in, product.out);
  if (!function) return queue(name, handle.stream);
  Passed<Number> alpha(handle, product.alpha), beta(handle, product.beta);
  long long elements = product.rows * product.columns, rows = product.rows, inner = product.inner;
  Matrix a = in_bytes(product.a, product.in), b = in_bytes(product.b, product.in),
         c = in_bytes(product.c, product.out);
  unsigned indirect = product.indirect ? 1 : 0;
  if (product.indirect) a.between_matrices = b.between_matrices = c.between_matrices = 8;
  void* parameters[] = {&rows,
                        &elements,
                        &inner,
                        &alpha.at,
                        &alpha.value,
                        &a.first,
                        &a.between_rows,
                        &a.between_columns,
                        &a.between_matrices,
                        &b.first,
                        &b.between_rows,
                        &b.between_columns,
                        &b.between_matrices,
                        &beta.at,
                        &beta.value,
                        &c.first,
                        &c.between_rows,
                        &c.between_columns,
                        &c.between_matrices,
                        &indirect};
  return launch(handle, function, elements, product.batch, parameters);
}

namespace {

template <class Number>
Status add(Handle& handle, const char* name, const Sum<Number>& sum, Passed<Number> alpha,
           Passed<Number> beta, unsigned reads_for_zero) {
  CUfunction function = kernel<Number>(handle, "add");
  if (!function) return queue(name, handle.stream);
  long long rows = sum.rows, elements = sum.rows * sum.columns;
  Matrix a = in_bytes(sum.a, kNative<Number>), b = in_bytes(sum.b, kNative<Number>),
         c = in_bytes(sum.c, kNative<Number>);
  void* parameters[] = {&rows,       &elements,       &alpha.at,          &alpha.value,
                        &a.first,    &a.between_rows, &a.between_columns, &beta.at,
                        &beta.value, &b.first,        &b.between_rows,    &b.between_columns,
                        &c.first,    &c.between_rows, &c.between_columns, &reads_for_zero};
  return launch(handle, function, elements, 1, parameters);
}

// One factor is the program's, the other is 0 or 1.
template <class Number>
Status add(Handle& handle, const char* name, long long count, Factor factor, const Matrix& x,
           const Matrix& y, Number beta) {
  if (count <= 0) return kSuccess;
  if (!factor) return kInvalidValue;
  Handle with_host_factors = handle;
  with_host_factors.pointer_mode = 0;
  return add<Number>(handle, name, Sum<Number>{count, 1, factor, x, &beta, y, y},
                     Passed<Number>(handle, factor), Passed<Number>(with_host_factors, &beta),
                     beta == 0 ? 1 : 0);  // 0 * NaN is NaN
}

}  // namespace

template <class Number>
Status add(Handle& handle, const char* name, const Sum<Number>& sum) {
  if (sum.rows == 0 || sum.columns == 0) return kSuccess;
  if (!sum.alpha || !sum.beta) return kInvalidValue;
  return add<Number>(handle, name, sum, Passed<Number>(handle, sum.alpha),
                     Passed<Number>(handle, sum.beta), 0);
}

template <class Number>
Status add(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x,
           const Matrix& y) {
  return add<Number>(handle, name, count, alpha, x, y, Number{1});
}

template <class Number>
Status scale(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x) {
  return add<Number>(handle, name, count, alpha, x, x, Number{0});
}

template <class Number>
Status move(Handle& handle, const char* name, long long count, const Matrix& x, const Matrix& y,
            bool swaps) {
  if (count <= 0) return kSuccess;
  CUfunction function = kernel<Number>(handle, "move");
  if (!function) return queue(name, handle.stream);
  Matrix from = in_bytes(x, kNative<Number>), to = in_bytes(y, kNative<Number>);
  unsigned both = swaps ? 1 : 0;
  void* parameters[] = {&count,    &from.first,      &from.between_rows,
                        &to.first, &to.between_rows, &both};
  return launch(handle, function, count, 1, parameters);
}

namespace {

// Lets `compute` write a result of some bytes at an address of the device, and brings it to where
// the pointer mode says.
template <class Compute>
Status with_result(Handle& handle, void* result, std::size_t bytes, const Compute& compute) {
  const Functions& driver = functions();
  if (handle.pointer_mode != 0) return compute(reinterpret_cast<CUdeviceptr>(result));
  CUdeviceptr place = 0;
  if (driver.allocate(&place, bytes) != CUDA_SUCCESS) return kAllocFailed;
  Status status = compute(place);
  if (status == kSuccess && (driver.copy(result, place, bytes, handle.stream) != CUDA_SUCCESS ||
                             driver.wait(handle.stream) != CUDA_SUCCESS))
    status = kExecutionFailed;
  driver.free(place);
  return status;
}

}  // namespace

Status reduce(Handle& handle, const char* name, Reduction kind, Element element,
              const Vectors& vectors) {
  if (!vectors.result) return kInvalidValue;
  CUfunction function = kernel(handle, "reduce", element, element);
  if (!function) return queue(name, handle.stream);
  const bool index = kind >= Reduction::kLargest;
  const long long bytes = index ? vectors.index_bytes : size_of(element);
  return with_result(handle, vectors.result, static_cast<std::size_t>(bytes),
                     [&](CUdeviceptr place) {
                       // A vector whose increment is not positive has elements for a product only.
                       const bool any = kind == Reduction::kProducts || vectors.x.between_rows > 0;
                       long long count = any && vectors.count > 0 ? vectors.count : 0;
                       Matrix x = in_bytes(vectors.x, element), y = in_bytes(vectors.y, element);
                       auto which = static_cast<unsigned>(kind);
                       unsigned wide = vectors.index_bytes == 8 ? 1 : 0;
                       void* parameters[] = {&count,          &x.first, &x.between_rows, &y.first,
                                             &y.between_rows, &which,   &place,          &wide};
                       return launch(handle, function, 1, 1, parameters, 1);
                     });
}

void unload(Handle& handle) noexcept {
  for (Handle::Loaded& loaded : handle.loaded) {
    CUcontext context = nullptr;
    const Functions& driver = functions();
    if (loaded.module && driver.current(&context) == CUDA_SUCCESS && context == loaded.context)
      driver.unload(loaded.module);
    loaded = {};
  }
}

// clang-format off
#define CUVMM_BLAS_KERNELS(Number) \
  template Status multiply<Number>(Handle&, const char*, const Product<Number>&); \
  template Status add<Number>(Handle&, const char*, const Sum<Number>&); \
  template Status add<Number>(Handle&, const char*, long long, Factor, const Matrix&, \
      const Matrix&); \
  template Status scale<Number>(Handle&, const char*, long long, Factor, const Matrix&); \
  template Status move<Number>(Handle&, const char*, long long, const Matrix&, const Matrix&, bool);
// clang-format on
CUVMM_BLAS_KERNELS(float)
CUVMM_BLAS_KERNELS(double)
#undef CUVMM_BLAS_KERNELS

}  // namespace cuvmm::blas
