// The functions of a libcuda that programs about plain memory call.
#pragma once

#include <cuda.h>

#include <string>

namespace cuvmm::fuzz::plain {

// cuMulticast* and managed memory are not among them, and must not be.
#define CUVMM_PLAIN_FUNCTIONS(F)                                                                   \
  F(cuInit)                                                                                        \
  F(cuDeviceGetCount)                                                                              \
  F(cuDeviceGetName)                                                                               \
  F(cuDriverGetVersion)                                                                            \
  F(cuDevicePrimaryCtxRetain)                                                                      \
  F(cuCtxSetCurrent) F(cuCtxSynchronize) F(cuStreamCreate) F(cuStreamSynchronize) F(               \
      cuMemAlloc_v2) F(cuMemAllocPitch_v2) F(cuMemAllocHost_v2) F(cuMemHostAlloc)                  \
      F(cuMemHostRegister_v2) F(cuMemHostUnregister) F(cuMemFree_v2) F(cuMemFreeHost) F(           \
          cuMemAllocAsync) F(cuMemAllocFromPoolAsync) F(cuMemFreeAsync)                            \
          F(cuMemHostGetDevicePointer_v2) F(cuMemHostGetFlags) F(cuPointerGetAttribute) F(         \
              cuPointerGetAttributes) F(cuPointerSetAttribute) F(cuMemGetAddressRange_v2)          \
              F(cuMemGetHandleForAddressRange) F(cuMemRetainAllocationHandle) F(cuMemRelease) F(   \
                  cuMemAddressReserve) F(cuMemAddressFree) F(cuMemCreate) F(cuMemMap)              \
                  F(cuMemUnmap) F(cuMemSetAccess) F(cuMemGetAccess) F(cuMemsetD8_v2) F(            \
                      cuMemsetD16_v2) F(cuMemsetD32_v2) F(cuMemsetD2D8_v2) F(cuMemsetD2D16_v2)     \
                      F(cuMemsetD2D32_v2) F(cuMemsetD8Async) F(cuMemsetD16Async)                   \
                          F(cuMemsetD32Async) F(cuMemsetD2D8Async) F(cuMemsetD2D16Async) F(        \
                              cuMemsetD2D32Async) F(cuMemcpy) F(cuMemcpyAsync) F(cuMemcpyHtoD_v2)  \
                              F(cuMemcpyDtoH_v2) F(cuMemcpyDtoD_v2) F(cuMemcpyHtoDAsync_v2) F(     \
                                  cuMemcpyDtoHAsync_v2) F(cuMemcpyDtoDAsync_v2) F(cuMemcpy2D_v2)   \
                                  F(cuMemcpy2DUnaligned_v2) F(cuMemcpy2DAsync_v2) F(cuMemcpy3D_v2) \
                                      F(cuMemcpy3DAsync_v2) F(cuMemPoolCreate) F(cuMemPoolDestroy) \
                                          F(cuDeviceGetDefaultMemPool) F(cuDeviceGetMemPool)       \
                                              F(cuDeviceSetMemPool) F(cuMemPoolGetAttribute)       \
                                                  F(cuMemPoolSetAttribute) F(cuMemPoolTrimTo)      \
                                                      F(cuMemPoolGetAccess) F(cuMemPoolSetAccess)

/// All of them, or an error. The library stays loaded.
struct Functions {
#define CUVMM_PLAIN_MEMBER(name) decltype(&::name) name = nullptr;
  CUVMM_PLAIN_FUNCTIONS(CUVMM_PLAIN_MEMBER)
#undef CUVMM_PLAIN_MEMBER
  CUresult (*cuCtxCreate_v2)(CUcontext*, unsigned, CUdevice) = nullptr;
  std::string error;
};
Functions load_functions(const std::string& path);

}  // namespace cuvmm::fuzz::plain
