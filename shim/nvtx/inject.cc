// SPDX-License-Identifier: Apache-2.0
// The functions that NVTX looks for in the library that NVTX_INJECTION64_PATH names. `cuvmm run`
// sets that variable to the shim, and CUVMM_NVTX_NEXT to the tool that it named before.
#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>

#include "shim/nvtx/attach.h"

namespace cuvmm::shim::nvtx {

namespace {

// The tool stays loaded, because its functions are in use.
void* next_tool(const char* symbol, const void* own) {
  static void* const kLibrary = [] {
    const char* const path = ::secure_getenv("CUVMM_NVTX_NEXT");
    return path && *path ? ::dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
  }();
  void* const found = kLibrary ? ::dlsym(kLibrary, symbol) : nullptr;
  return found == own ? nullptr : found;
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
