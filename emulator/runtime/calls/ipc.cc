// SPDX-License-Identifier: Apache-2.0
// Memory and events of other processes. Handles are 64 bytes, passed by value as the driver's are.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_CALL(cudaIpcGetMemHandle, (handle, pointer), CUipcMemHandle* handle, void* pointer) {
  return ask(driver.cuIpcGetMemHandle, handle, reinterpret_cast<CUdeviceptr>(pointer));
}

CUVMM_RUNTIME_CALL(cudaIpcOpenMemHandle, (pointer, handle, flags), void** pointer,
                   CUipcMemHandle handle, unsigned flags) {
  return ask(driver.cuIpcOpenMemHandle, reinterpret_cast<CUdeviceptr*>(pointer), handle, flags);
}

CUVMM_RUNTIME_CALL(cudaIpcCloseMemHandle, (pointer), void* pointer) {
  return ask(driver.cuIpcCloseMemHandle, reinterpret_cast<CUdeviceptr>(pointer));
}

CUVMM_RUNTIME_CALL(cudaIpcGetEventHandle, (handle, event), CUipcEventHandle* handle,
                   CUevent event) {
  return ask(driver.cuIpcGetEventHandle, handle, event);
}

CUVMM_RUNTIME_CALL(cudaIpcOpenEventHandle, (event, handle), CUevent* event,
                   CUipcEventHandle handle) {
  return ask(driver.cuIpcOpenEventHandle, event, handle);
}

}  // namespace cuvmm::runtime
