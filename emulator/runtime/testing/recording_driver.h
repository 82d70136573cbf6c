// SPDX-License-Identifier: Apache-2.0
// A libcuda that records the calls of the runtime library, and gives the answers that a test sets.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

struct Recorded {
  std::vector<std::string> calls;  ///< by their names for cuGetProcAddress, contexts' calls too
  CUresult answer = CUDA_SUCCESS;  ///< of the calls in scope
  CUcontext current = nullptr;     ///< of the one thread that tests use
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory{};
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC array{};
  CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC semaphore{};
  CUipcMemHandle ipc_memory{};
  CUipcEventHandle ipc_event{};
  CUdeviceptr pointer = 0;
  unsigned flags = 0;
  void* object = nullptr;
  int asked_version = 0;  ///< of the last cuGetProcAddress
  cuuint64_t asked_flags = 0;
};

/// The value that the driver writes into out-parameters.
inline constexpr CUdeviceptr kRecordedPointer = 0x7000001000;

/// The one record of the process; the driver library exports it.
extern "C" Recorded* recorded_calls();
