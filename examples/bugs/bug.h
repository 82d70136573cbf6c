// SPDX-License-Identifier: Apache-2.0
// The common part of the bug programs. Each program is one bug of a real project, reduced to its
// driver calls. It prints every call with the driver's answer and exits with 0 when the answers are
// those of an H200 with driver 580.159.04, 1 when they differ, 77 when it cannot run here. Lines
// `// expects: RULE` in a program name all findings that cuvmm must report for it; `// needs: ...`
// names the conditions to run it (see ../expectation.py).
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace bug {

inline const char* name(CUresult code) {
  const char* text = nullptr;
  return cuGetErrorName(code, &text) == CUDA_SUCCESS && text != nullptr ? text : "an unknown code";
}

inline int differences = 0;

/// The program's exit code.
inline int verdict() { return differences == 0 ? 0 : 1; }

/// Prints a call and its answer, and counts a difference from an H200's answer.
inline CUresult saw(CUresult expected, const char* call, CUresult answer) {
  std::printf("%s = %s\n", call, name(answer));
  if (answer != expected) {
    std::printf("  (an H200 answered %s)\n", name(expected));
    ++differences;
  }
  return answer;
}

/// For calls on which the real driver crashes: only cuvmm's --enforce makes them return, with some
/// error code.
inline void refused(const char* call, CUresult answer) {
  std::printf("%s = %s\n", call, name(answer));
  if (answer == CUDA_SUCCESS) ++differences;
}

/// For the call that reports a fault of work on missing memory. For a fill, an H200 answered
/// CUDA_ERROR_LAUNCH_FAILED, and an H100 CUDA_ERROR_ILLEGAL_ADDRESS (both 580.159.04).
inline void faulted(const char* call, CUresult answer) {
  std::printf("%s = %s\n", call, name(answer));
  if (answer != CUDA_ERROR_LAUNCH_FAILED && answer != CUDA_ERROR_ILLEGAL_ADDRESS) ++differences;
}

/// For a call that must succeed, because the rest of the program needs it.
inline void must(const char* call, CUresult answer) {
  if (answer == CUDA_SUCCESS) return;
  std::printf("%s = %s, and the program cannot go on\n", call, name(answer));
  std::exit(1);
}

[[noreturn]] inline void skip(const char* reason) {
  std::printf("skipped: %s\n", reason);
  std::exit(77);
}

/// Multicast can disturb GPUs that others share. The examples that use it run only where
/// CUVMM_EXAMPLE_MULTICAST=1 says that the driver is the emulator, or that nobody shares the
/// machine.
inline void need_multicast(int count = 2) {
  const char* allowed = std::getenv("CUVMM_EXAMPLE_MULTICAST");
  if (allowed == nullptr || *allowed != '1') skip("multicast, without CUVMM_EXAMPLE_MULTICAST=1");
  int devices = 0;
  if (cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices < count) skip("too few devices");
}

#define SAW(expected, call) bug::saw((expected), #call, (call))
#define REFUSED(call) bug::refused(#call, (call))
#define FAULTED(call) bug::faulted(#call, (call))
#define MUST(call) bug::must(#call, (call))

/// Device memory that can be shared by `handle_types` (CUmemAllocationHandleType bits).
inline CUmemAllocationProp memory_on(
    int ordinal, CUmemAllocationHandleType handle_types = CU_MEM_HANDLE_TYPE_NONE) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = ordinal;
  prop.requestedHandleTypes = handle_types;
  return prop;
}

inline CUmemAccessDesc access_from(int ordinal,
                                   CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  CUmemAccessDesc desc = {};
  desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  desc.location.id = ordinal;
  desc.flags = flags;
  return desc;
}

/// Makes the device's primary context current and returns the granularity of its memory in bytes.
inline std::size_t start(int ordinal = 0) {
  if (cuInit(0) != CUDA_SUCCESS) skip("no CUDA driver or no device");
  CUdevice device = 0;
  CUcontext context = nullptr;
  MUST(cuDeviceGet(&device, ordinal));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  const CUmemAllocationProp prop = memory_on(ordinal);
  std::size_t granularity = 0;
  MUST(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  return granularity;
}

}  // namespace bug
