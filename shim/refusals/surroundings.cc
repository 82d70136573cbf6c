// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/surroundings.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "api/driver/driver.h"
#include "recorder/holdings/counted.h"
#include "shim/output/json.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

namespace {

std::atomic<CUresult> g_init_answer{CUDA_SUCCESS};
std::atomic<bool> g_initialized{false};

}  // namespace

void note_init(CUresult result) noexcept {
  g_init_answer.store(result);
  if (result == CUDA_SUCCESS) g_initialized.store(true);
}

bool never_initialized() noexcept { return !g_initialized.load(); }

std::string uninitialized_text() {
  const CUresult answer = failed_init();
  if (answer == CUDA_SUCCESS) {
    return "no cuInit came before it in this process. Fix: call cuInit(0) once before any other "
           "function of the driver";
  }
  const std::string text = "cuInit answered " + result_name(answer) + " in this process";
  return answer == CUDA_ERROR_NO_DEVICE ? text + "; " + visible_devices() : text;
}

std::string forked_text(int from) {
  const bool direct = ::getppid() == from;
  return "process " + std::to_string(::getpid()) +
         (direct ? " was forked from process " : " descends by fork from process ") +
         std::to_string(from) + " after that one's cuInit, and a driver cannot be used in such a " +
         "child: each call, cuInit included, is refused";
}

CUresult failed_init() noexcept { return g_init_answer.load(); }

bool may_be_hidden(CUresult result) {
  return result == CUDA_ERROR_INVALID_DEVICE && std::getenv("CUDA_VISIBLE_DEVICES");
}

std::string visible_devices() {
  const char* const set = std::getenv("CUDA_VISIBLE_DEVICES");
  return "CUDA_VISIBLE_DEVICES is " + (set ? json_string(set) : std::string("not set"));
}

void add_surroundings(CUresult result, const Origin& context_end,
                      std::vector<Refusal::Aside>& asides) {
  if (may_be_hidden(result)) {
    asides.push_back(
        {visible_devices() + ": this process sees no other devices, and numbers them from 0 on"});
  }
  const bool ended = result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_INVALID_CONTEXT ||
                     result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (ended && context_end.call != 0) {
    const std::string by = by_text(context_end.call, stack_function(context_end.stack));
    asides.push_back({by.substr(4) +  // without " by "
                          " ended a context, and with it the context's streams, events and memory. "
                          "Fix: end the context behind the last use, or make another one current "
                          "(cuDevicePrimaryCtxRetain and cuCtxSetCurrent) and its objects anew",
                      context_end.stack});
  }
}

}  // namespace cuvmm::shim
