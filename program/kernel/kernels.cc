// SPDX-License-Identifier: Apache-2.0
#include "program/kernel/kernels.h"

#include <dlfcn.h>

#include <iterator>

namespace cuvmm::program {

namespace {

constexpr Word kWords[] = {
    {"nothing", 0, ""}, {"fill", 1, ""}, {"copy", 2, ""}, {"fill_struct", 3, ""}};

// The kernel `nothing` touches no memory. In the other kernels, each thread touches one word.
constexpr const char* kText = R"(.version 7.0
.target sm_70
.address_size 64

.visible .entry nothing(.param .u64 .ptr a, .param .u64 .ptr b, .param .u64 .ptr c)
{
  ret;
}

.visible .entry fill(.param .u64 .ptr to, .param .u64 value, .param .u64 count)
{
  .reg .pred %p<1>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd0, [to];
  ld.param.u64 %rd1, [value];
  ld.param.u64 %rd2, [count];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r3, %r0, %r1, %r2;
  cvt.u64.u32 %rd3, %r3;
  setp.ge.u64 %p0, %rd3, %rd2;
  @%p0 bra $done;
  cvta.to.global.u64 %rd4, %rd0;
  shl.b64 %rd5, %rd3, 3;
  add.s64 %rd6, %rd4, %rd5;
  st.global.u64 [%rd6], %rd1;
$done:
  ret;
}

.visible .entry copy(.param .u64 .ptr to, .param .u64 .ptr from, .param .u64 count)
{
  .reg .pred %p<1>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd0, [to];
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [count];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r3, %r0, %r1, %r2;
  cvt.u64.u32 %rd3, %r3;
  setp.ge.u64 %p0, %rd3, %rd2;
  @%p0 bra $done;
  cvta.to.global.u64 %rd4, %rd0;
  cvta.to.global.u64 %rd5, %rd1;
  shl.b64 %rd6, %rd3, 3;
  add.s64 %rd7, %rd4, %rd6;
  add.s64 %rd8, %rd5, %rd6;
  ld.global.u64 %rd9, [%rd8];
  st.global.u64 [%rd7], %rd9;
$done:
  ret;
}

.visible .entry fill_struct(.param .align 8 .b8 all[24])
{
  .reg .pred %p<1>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd0, [all];
  ld.param.u64 %rd1, [all+8];
  ld.param.u64 %rd2, [all+16];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r3, %r0, %r1, %r2;
  cvt.u64.u32 %rd3, %r3;
  setp.ge.u64 %p0, %rd3, %rd2;
  @%p0 bra $done;
  cvta.to.global.u64 %rd4, %rd0;
  shl.b64 %rd5, %rd3, 3;
  add.s64 %rd6, %rd4, %rd5;
  st.global.u64 [%rd6], %rd1;
$done:
  ret;
}
)";

}  // namespace

std::span<const Word> kernel_words() { return kWords; }

const char* kernel_name(std::uint64_t number) {
  return number < std::size(kWords) ? kWords[number].word.data() : nullptr;
}

const char* kernel_text() { return kText; }

CUresult load_kernel(const Driver& driver, const char* name, CUfunction* out) {
  using Find = CUresult(CUDAAPI*)(CUfunction*, CUmodule, const char*);
  Dl_info library{};
  const auto init = driver.get(Driver::primary_symbol(EntryPoint::kInit));
  if (!name || !init || !dladdr(reinterpret_cast<const void*>(init), &library)) {
    return CUDA_ERROR_NOT_FOUND;
  }
  void* const handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return CUDA_ERROR_NOT_FOUND;
  const auto find = reinterpret_cast<Find>(dlsym(handle, "cuModuleGetFunction"));
  dlclose(handle);
  const Symbol load = Driver::primary_symbol(EntryPoint::kModuleLoadData);
  if (!find || !driver.get(load)) return CUDA_ERROR_NOT_FOUND;
  CUmodule module = nullptr;
  const CUresult loaded = driver(calls::ModuleLoadData{&module, kText});
  return loaded == CUDA_SUCCESS ? find(out, module, name) : loaded;
}

}  // namespace cuvmm::program
