// SPDX-License-Identifier: Apache-2.0
// A kernel's fault takes the device from the process (argument `device`, as an H200), or ends with
// its context (`context`).
#include "emulator/testing_life/life.h"

namespace {

constexpr const char* kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry store(.param .u64 to) { .reg .u64 %r; ld.param.u64 %r, [to]; st.global.u32 "
    "[%r], 7; ret; }\n";
constexpr CUresult kFault = CUDA_ERROR_ILLEGAL_ADDRESS;

// cuda.h's cuCtxCreate has other parameters since CUDA 13.
CUresult create(CUcontext* out, CUdevice device) {
  using Function = CUresult (*)(CUcontext*, unsigned, CUdevice);
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "cuCtxCreate_v2"))(out, 0, device);
}
CUresult allocate(CUcontext context) {
  CUdeviceptr memory = 0;
  OK(cuCtxSetCurrent(context));
  return cuMemAlloc(&memory, 4096);
}
void lose() {
  CUmodule module = nullptr;
  CUfunction store = nullptr;
  CUdeviceptr nowhere = 16;
  void* arguments[] = {&nowhere};
  OK(cuModuleLoadData(&module, kPtx));
  OK(cuModuleGetFunction(&store, module, "store"));
  OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  EXPECT(cuCtxSynchronize() == kFault);
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 2);
  const bool whole = std::strcmp(arguments[1], "device") == 0;
  const CUresult expected = whole ? kFault : CUDA_SUCCESS;
  CUcontext primary = use_device();
  CUcontext other = nullptr, next = nullptr, elsewhere = nullptr;
  OK(create(&other, 0));
  OK(create(&elsewhere, 1));
  OK(allocate(other));
  lose();
  EXPECT(allocate(primary) == expected);
  EXPECT(allocate(other) == kFault);
  OK(allocate(elsewhere));
  // Memory that belongs to no context stays.
  end_block(make_block(false));
  EXPECT(create(&next, 0) == expected);
  OK(cuCtxDestroy(other));
  OK(cuDevicePrimaryCtxReset(0));
  EXPECT(allocate(primary) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT(create(&next, 0) == expected);
  EXPECT(cuDevicePrimaryCtxRetain(&next, 0) == expected);
  OK(create(&next, 1));
  return 0;
}
