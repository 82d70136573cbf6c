// SPDX-License-Identifier: Apache-2.0
// What NVTX looks for in the library that NVTX_INJECTION64_PATH names. `cuvmm run` has it name the
// shim, and the tool that was there before is in CUVMM_NVTX_NEXT.
#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>

#include "shim/nvtx/attach.h"

namespace cuvmm::shim::nvtx {

namespace {

// It stays loaded: its functions are in use.
void* next_tool(const char* symbol, const void* ours) {
  static void* const kLibrary = [] {
    const char* const path = ::secure_getenv("CUVMM_NVTX_NEXT");
    return path && *path ? ::dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
  }();
  void* const found = kLibrary ? ::dlsym(kLibrary, symbol) : nullptr;
  return found == ours ? nullptr : found;
}

}  // namespace

}  // namespace cuvmm::shim::nvtx

extern "C" {

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    cuvmm::shim::nvtx::GetExportTable get) {
  using namespace cuvmm::shim::nvtx;
  const int program_errno = errno;
  const auto next = reinterpret_cast<Initialize>(
      next_tool("InitializeInjectionNvtx2", reinterpret_cast<void*>(&InitializeInjectionNvtx2)));
  const int result = attach(get, next);
  errno = program_errno;
  return result;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    cuvmm::shim::nvtx::ExtensionModule* module) {
  using namespace cuvmm::shim::nvtx;
  const int program_errno = errno;
  const auto next = reinterpret_cast<InitializeExtension>(
      next_tool("InitializeInjectionNvtxExtension",
                reinterpret_cast<void*>(&InitializeInjectionNvtxExtension)));
  const int result = attach_extension(module, next);
  errno = program_errno;
  return result;
}
}
