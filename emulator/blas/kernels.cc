// SPDX-License-Identifier: Apache-2.0
#include "emulator/blas/kernels.h"

#include <dlfcn.h>

#include <cstring>
#include <new>
#include <string>

namespace cuvmm::blas {

namespace {

// Each thread computes one element. FF stands for the type, f32 or f64, and BYTES for its size. A
// factor comes as a value, or by an address that is not 0. Distances are in bytes.
constexpr const char* kText = R"(
.version 7.0
.target sm_52
.address_size 64
.visible .entry multiply(.param .u64 rows, .param .u64 elements, .param .u64 inner,
  .param .u64 alpha_at, .param .FF alpha, .param .u64 a, .param .u64 a_row, .param .u64 a_column,
  .param .u64 a_next, .param .u64 b, .param .u64 b_row, .param .u64 b_column, .param .u64 b_next,
  .param .u64 beta_at, .param .FF beta, .param .u64 c, .param .u64 c_row, .param .u64 c_column,
  .param .u64 c_next)
{
  .reg .pred %p<6>; .reg .b32 %r<6>; .reg .b64 %d<30>; .reg .FF %x<8>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mul.wide.u32 %d0, %r0, %r1; cvt.u64.u32 %d1, %r2; add.u64 %d0, %d0, %d1;
  ld.param.u64 %d1, [elements]; setp.ge.u64 %p0, %d0, %d1; @%p0 bra end;
  ld.param.u64 %d1, [rows]; div.u64 %d2, %d0, %d1; rem.u64 %d3, %d0, %d1;
  mov.u32 %r3, %ctaid.y; cvt.u64.u32 %d4, %r3;
  ld.param.u64 %d5, [a]; ld.param.u64 %d6, [a_row]; mad.lo.u64 %d5, %d3, %d6, %d5;
  ld.param.u64 %d6, [a_next]; mad.lo.u64 %d5, %d4, %d6, %d5; ld.param.u64 %d7, [a_column];
  ld.param.u64 %d8, [b]; ld.param.u64 %d9, [b_column]; mad.lo.u64 %d8, %d2, %d9, %d8;
  ld.param.u64 %d9, [b_next]; mad.lo.u64 %d8, %d4, %d9, %d8; ld.param.u64 %d10, [b_row];
  ld.param.u64 %d11, [c]; ld.param.u64 %d12, [c_row]; mad.lo.u64 %d11, %d3, %d12, %d11;
  ld.param.u64 %d12, [c_column]; mad.lo.u64 %d11, %d2, %d12, %d11;
  ld.param.u64 %d12, [c_next]; mad.lo.u64 %d11, %d4, %d12, %d11;
  mov.FF %x0, ZERO; ld.param.u64 %d13, [inner];
next:
  setp.eq.u64 %p1, %d13, 0; @%p1 bra sum;
  ld.global.FF %x1, [%d5]; ld.global.FF %x2, [%d8]; fma.rn.FF %x0, %x1, %x2, %x0;
  add.u64 %d5, %d5, %d7; add.u64 %d8, %d8, %d10; sub.u64 %d13, %d13, 1; bra next;
sum:
  ld.param.FF %x3, [alpha]; ld.param.u64 %d14, [alpha_at]; setp.ne.u64 %p2, %d14, 0;
  @%p2 ld.global.FF %x3, [%d14];
  ld.param.FF %x4, [beta]; ld.param.u64 %d14, [beta_at]; setp.ne.u64 %p2, %d14, 0;
  @%p2 ld.global.FF %x4, [%d14];
  mul.rn.FF %x5, %x3, %x0; setp.eq.FF %p3, %x4, ZERO; @%p3 bra store;
  ld.global.FF %x6, [%d11]; fma.rn.FF %x5, %x4, %x6, %x5;
store:
  st.global.FF [%d11], %x5;
end:
  ret;
}
.visible .entry add(.param .u64 count, .param .u64 alpha_at, .param .FF alpha, .param .u64 x,
  .param .u64 x_next, .param .u64 y, .param .u64 y_next, .param .u32 scales)
{
  .reg .pred %p<6>; .reg .b32 %r<6>; .reg .b64 %d<10>; .reg .FF %x<8>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mul.wide.u32 %d0, %r0, %r1; cvt.u64.u32 %d1, %r2; add.u64 %d0, %d0, %d1;
  ld.param.u64 %d1, [count]; setp.ge.u64 %p0, %d0, %d1; @%p0 bra end;
  ld.param.FF %x0, [alpha]; ld.param.u64 %d2, [alpha_at]; setp.ne.u64 %p1, %d2, 0;
  @%p1 ld.global.FF %x0, [%d2];
  ld.param.u64 %d3, [x]; ld.param.u64 %d4, [x_next]; mad.lo.u64 %d3, %d0, %d4, %d3;
  ld.param.u64 %d5, [y]; ld.param.u64 %d6, [y_next]; mad.lo.u64 %d5, %d0, %d6, %d5;
  ld.global.FF %x1, [%d3]; mov.FF %x2, ZERO; ld.param.u32 %r3, [scales]; setp.ne.u32 %p2, %r3, 0;
  @!%p2 ld.global.FF %x2, [%d5];
  fma.rn.FF %x3, %x0, %x1, %x2; st.global.FF [%d5], %x3;
end:
  ret;
}
)";

template <class Number>
std::string text_of() {
  std::string text = kText;
  const bool wide = sizeof(Number) == sizeof(double);
  const auto replace = [&](const std::string& word, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += by.size())
      text.replace(at, word.size(), by);
  };
  replace("FF", wide ? "f64" : "f32");
  replace("ZERO", wide ? "0d0000000000000000" : "0f00000000");
  return text;
}

/// The functions of the driver.
struct Functions {
  decltype(&cuModuleLoadData) load = nullptr;
  decltype(&cuModuleUnload) unload = nullptr;
  decltype(&cuModuleGetFunction) find = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
  decltype(&cuCtxGetCurrent) current = nullptr;
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
    take(library, "cuMemAlloc_v2", found.allocate);
    take(library, "cuMemFree_v2", found.free);
    take(library, "cuMemcpyDtoHAsync_v2", found.copy);
    take(library, "cuStreamSynchronize", found.wait);
    return found;
  }();
  return known;
}

// The kernel in the current context, for which the handle keeps the last module.
template <class Number>
CUfunction kernel(Handle& handle, const char* name) {
  const Functions& driver = functions();
  Handle::Loaded& loaded = handle.loaded[sizeof(Number) == sizeof(double) ? 1 : 0];
  CUcontext context = nullptr;
  CUfunction function = nullptr;
  if (has_skipped() || !driver.wait || driver.current(&context) != CUDA_SUCCESS || !context)
    return nullptr;
  if (!loaded.module || loaded.context != context) {
    loaded = {};
    if (driver.load(&loaded.module, text_of<Number>().c_str()) != CUDA_SUCCESS) return nullptr;
    loaded.context = context;
  }
  return driver.find(&function, loaded.module, name) == CUDA_SUCCESS ? function : nullptr;
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

Status launch(Handle& handle, CUfunction function, long long threads, int batch,
              void** parameters) {
  constexpr unsigned kBlock = 128;
  const auto blocks = static_cast<unsigned>((threads + kBlock - 1) / kBlock);
  const CUresult result = functions().launch(function, blocks, static_cast<unsigned>(batch), 1,
                                             kBlock, 1, 1, 0, handle.stream, parameters, nullptr);
  return result == CUDA_SUCCESS ? kSuccess : kExecutionFailed;
}

}  // namespace

template <class Number>
Status multiply(Handle& handle, const char* name, const Product<Number>& product) {
  if (product.rows == 0 || product.columns == 0 || product.batch == 0) return kSuccess;
  if (!product.alpha || !product.beta) return kInvalidValue;
  CUfunction function = kernel<Number>(handle, "multiply");
  if (!function) return queue(name, handle.stream);
  Passed<Number> alpha(handle, product.alpha), beta(handle, product.beta);
  constexpr auto kBytes = static_cast<long long>(sizeof(Number));
  long long elements = product.rows * product.columns, rows = product.rows, inner = product.inner;
  Matrix a = product.a, b = product.b, c = product.c;
  for (Matrix* each : {&a, &b, &c}) {
    each->between_rows *= kBytes;
    each->between_columns *= kBytes;
    each->between_matrices *= kBytes;
  }
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
                        &c.between_matrices};
  return launch(handle, function, elements, product.batch, parameters);
}

namespace {

template <class Number>
Status add_or_scale(Handle& handle, const char* name, long long count, Factor factor, Matrix x,
                    Matrix y, unsigned scales) {
  if (count <= 0) return kSuccess;
  if (!factor) return kInvalidValue;
  CUfunction function = kernel<Number>(handle, "add");
  if (!function) return queue(name, handle.stream);
  Passed<Number> alpha(handle, factor);
  x.between_rows *= static_cast<long long>(sizeof(Number));
  y.between_rows *= static_cast<long long>(sizeof(Number));
  void* parameters[] = {&count,          &alpha.at, &alpha.value,    &x.first,
                        &x.between_rows, &y.first,  &y.between_rows, &scales};
  return launch(handle, function, count, 1, parameters);
}

}  // namespace

template <class Number>
Status add(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x,
           const Matrix& y) {
  return add_or_scale<Number>(handle, name, count, alpha, x, y, 0);
}

template <class Number>
Status scale(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x) {
  return add_or_scale<Number>(handle, name, count, alpha, x, x, 1);
}

template <class Number>
Status dot(Handle& handle, const char* name, long long count, const Matrix& x, const Matrix& y,
           void* result) {
  if (!result) return kInvalidValue;
  const Functions& driver = functions();
  if (!kernel<Number>(handle, "multiply")) return queue(name, handle.stream);
  // The factors are the host's in any mode.
  Handle with_host_factors = handle;
  with_host_factors.pointer_mode = 0;
  const Number one = 1, zero = 0;
  const Matrix row{x.first, 0, x.between_rows};
  Product<Number> product{1, 1, count < 0 ? 0 : count, &one, row, y, &zero, {}};
  product.c.first = reinterpret_cast<CUdeviceptr>(result);
  if (handle.pointer_mode != 0) return multiply(with_host_factors, name, product);
  if (driver.allocate(&product.c.first, sizeof(Number)) != CUDA_SUCCESS) return kAllocFailed;
  Status status = multiply(with_host_factors, name, product);
  if (status == kSuccess &&
      (driver.copy(result, product.c.first, sizeof(Number), handle.stream) != CUDA_SUCCESS ||
       driver.wait(handle.stream) != CUDA_SUCCESS))
    status = kExecutionFailed;
  driver.free(product.c.first);
  return status;
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

#define CUVMM_BLAS_KERNELS(Number)                                                       \
  template Status multiply<Number>(Handle&, const char*, const Product<Number>&);        \
  template Status add<Number>(Handle&, const char*, long long, Factor, const Matrix&,    \
                              const Matrix&);                                            \
  template Status scale<Number>(Handle&, const char*, long long, Factor, const Matrix&); \
  template Status dot<Number>(Handle&, const char*, long long, const Matrix&, const Matrix&, void*);
CUVMM_BLAS_KERNELS(float)
CUVMM_BLAS_KERNELS(double)
#undef CUVMM_BLAS_KERNELS

}  // namespace cuvmm::blas
