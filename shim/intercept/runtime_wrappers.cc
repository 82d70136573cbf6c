// SPDX-License-Identifier: Apache-2.0
// Functions of the runtime for the calls that the shim checks, under the runtime's names: if
// libcudart is shared, the loader finds these first, and they note which runtime function the
// thread is in. If libcudart is static, its calls never pass here, and findings name only the
// driver's function.
#include "shim/base/runtime_call.h"
#include "shim/modules/next_function.h"

namespace cuvmm::shim {

namespace {

/// cudaIpcMemHandle_t and cudaIpcEventHandle_t.
struct IpcHandle {
  char bytes[64];
};

/// cudaErrorSharedObjectSymbolNotFound: a program that has no libcudart calls one of its functions.
constexpr int kNoRuntime = 302;

}  // namespace

#define CUVMM_TWIN(name, arguments, ...)                                                          \
  extern "C" __attribute__((visibility("default"), noinline)) int twin_##name(                    \
      __VA_ARGS__) __asm__(#name);                                                                \
  int twin_##name(__VA_ARGS__) {                                                                  \
    const RuntimeCall call{#name, CUVMM_CALLER};                                                  \
    const auto next =                                                                             \
        reinterpret_cast<int (*)(__VA_ARGS__)>(next_function(#name, call.caller.return_address)); \
    if (!next) return kNoRuntime;                                                                 \
    const RuntimeScope scope(call);                                                               \
    return next arguments;                                                                        \
  }
#include "shim/intercept/runtime_twins.def"

}  // namespace cuvmm::shim
