#include "shim/runtime_call.h"

namespace cuvmm::shim {

namespace {
thread_local const RuntimeCall* t_runtime_call = nullptr;
}

const RuntimeCall*& runtime_call() noexcept { return t_runtime_call; }

}  // namespace cuvmm::shim
