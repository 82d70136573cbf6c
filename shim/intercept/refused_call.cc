// SPDX-License-Identifier: Apache-2.0
#include "shim/intercept/refused_call.h"

#include <pthread.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "api/posix/cancel_off.h"
#include "recorder/last_calls/reading.h"
#include "shim/base/in_flight.h"
#include "shim/base/runtime_call.h"
#include "shim/process/process.h"
#include "shim/refusals/loaded_code.h"

namespace cuvmm::shim {

namespace {

template <class... Args>
bool ask(const char* function, Args... arguments) {
  using Function = CUresult(CUDAAPI*)(Args...);
  const auto behind = reinterpret_cast<Function>(Process::get().driver().find(function));
  return behind && behind(arguments...) == CUDA_SUCCESS;
}

// A driver before CUDA 12.4 cannot list the kernels of code.
template <class Handle, class Kernel>
bool list_kernels(const char* count_of, const char* list_of, const char* name_of, Handle whole,
                  std::vector<std::string>& names) {
  constexpr unsigned kMost = 4096;
  unsigned count = 0;
  if (!ask(count_of, &count, whole) || count > kMost) return false;
  std::vector<Kernel> all(count);
  if (count != 0 && !ask(list_of, all.data(), count, whole)) return false;
  for (const Kernel each : all) {
    const char* name = nullptr;
    if (!ask(name_of, &name, each) || !name) return false;
    names.emplace_back(name);
  }
  return true;
}

CodeTarget target_here() {
  const Driver& driver = Process::get().driver().functions;
  CodeTarget target;
  CUdevice device = 0;
  CUcontext context = nullptr;
  const bool current = driver(calls::CtxGetCurrent{&context}) == CUDA_SUCCESS && context &&
                       driver(calls::CtxGetDevice{&device}) == CUDA_SUCCESS;
  target.device = current ? device : 0;
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    const CUresult result = driver(calls::DeviceGetAttribute{&value, which, target.device});
    return result == CUDA_SUCCESS ? value : 0;
  };
  target.capability = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  if (target.capability != 0) {
    target.capability += attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  }
  driver(calls::DriverGetVersion{&target.cuda});
  return target;
}

std::string facts_of(const NameInput& input, CUresult result) {
  if (!input.name) return "the name is NULL";
  if (blames_code(result) && input.library)
    return loaded_code_facts(input.library, target_here(), result);
  if (result != CUDA_ERROR_NOT_FOUND) return {};
  std::vector<std::string> kernels;
  const bool known = input.module ? list_kernels<CUmodule, CUfunction>(
                                        "cuModuleGetFunctionCount", "cuModuleEnumerateFunctions",
                                        "cuFuncGetName", input.module, kernels)
                                  : list_kernels<CUlibrary, CUkernel>(
                                        "cuLibraryGetKernelCount", "cuLibraryEnumerateKernels",
                                        "cuKernelGetName", input.library, kernels);
  if (!known) return "the code has no such name: \"" + std::string(input.name) + '"';
  return name_facts(input.name, input.kernel ? "kernel" : "variable", kernels);
}

// These codes speak of the driver or of earlier work, whatever the code is.
bool concerns_code(CUresult result) {
  return result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_DEINITIALIZED &&
         result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_CONTEXT_IS_DESTROYED &&
         result != CUDA_ERROR_OUT_OF_MEMORY && result != CUDA_ERROR_INVALID_HANDLE &&
         result != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

template <class FindFacts>
void note(const char* function, CUresult result, const Caller& direct,
          const FindFacts& find_facts) noexcept {
  // Work that failed earlier has a report of its own (shim/end/fault.cc).
  if (in_flight() || t_state.on_own_stack || !is_refused(result) ||
      last_calls::is_fault(static_cast<std::uint32_t>(result)))
    return;
  if (result == CUDA_ERROR_NOT_INITIALIZED)
    return Process::get().note_not_initialized(function, direct);
  const int saved = errno;
  const CancelOff no_cancel;
  std::string known;
  try {
    if (concerns_code(result)) known = find_facts();
  } catch (...) {
    // Out of memory: the report has the call without its cause.
  }
  const RuntimeCall* const runtime = runtime_call();
  Process::get().journal().add(function, result, known, ::pthread_self(),
                               runtime ? runtime->caller : direct);
  errno = saved;
}

}  // namespace

void note_refused(const char* function, CUresult result, const Caller& direct) noexcept {
  if (result != CUDA_ERROR_NOT_INITIALIZED && is_only_an_answer(function, result)) return;
  note(function, result, direct, [] { return std::string(); });
}

void note_refused_because(const char* function, CUresult result, const Caller& direct,
                          const std::string& known) noexcept {
  note(function, result, direct, [&] { return known; });
}

void note_refused(const char* function, CUresult result, const Caller& direct,
                  const CodeInput& code) noexcept {
  note(function, result, direct, [&] { return code_facts(code, target_here(), result); });
}

void note_refused(const char* function, CUresult result, const Caller& direct,
                  CUkernel kernel) noexcept {
  note(function, result, direct, [&]() -> std::string {
    CUlibrary library = nullptr;
    const bool known = blames_code(result) && ask("cuKernelGetLibrary", &library, kernel);
    return known ? loaded_code_facts(library, target_here(), result) : std::string();
  });
}

void note_refused(const char* function, CUresult result, const Caller& direct,
                  CUlibrary library) noexcept {
  note(function, result, direct, [&] {
    return blames_code(result) ? loaded_code_facts(library, target_here(), result) : std::string();
  });
}

void note_refused(const char* function, CUresult result, const Caller& direct,
                  const NameInput& name) noexcept {
  note(function, result, direct, [&] { return facts_of(name, result); });
}

}  // namespace cuvmm::shim
