// SPDX-License-Identifier: Apache-2.0
// uses list: prints each case of the matrix. uses N: makes the object of case N, uses it, and
// prints the answer. uses_test.py runs the cases.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "uses.h"

namespace uses {

Scene scene;

namespace {

CUcontext g_other = nullptr;

void begin() {
  MUST(cuInit(0));
  MUST(cuDeviceGet(&scene.device, 0));
  MUST(cuDevicePrimaryCtxRetain(&scene.context, scene.device));
  MUST(cuCtxSetCurrent(scene.context));
  MUST(cuStreamCreate(&scene.stream, CU_STREAM_NON_BLOCKING));
  MUST(cuEventCreate(&scene.event, 0));
  MUST(cuMemAlloc(&scene.memory, kMade));
  const CUDA_ARRAY_DESCRIPTOR shape{64, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  MUST(cuArrayCreate(&scene.array, &shape));
  scene.host = static_cast<char*>(std::calloc(1, kMade));
}

// Calls visit(number, state, use) for each case.
template <class Visit>
void each_case(Visit&& visit) {
  int number = 0;
  for (const auto* states : {&memory_states(), &object_states()}) {
    for (const State& state : *states) {
      for (const auto* all : {&memory_uses(), &object_uses()}) {
        for (const Use& use : *all) {
          if (std::strcmp(state.kind, use.kind) == 0) visit(number++, state, use);
        }
      }
    }
  }
}

}  // namespace

void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::printf("a legal call was refused: %s: %d\n", call, result);
  std::fflush(stdout);
  ::_exit(3);
}

void begin_context() {
  CUctxCreateParams params{};
  MUST(cuCtxCreate(&g_other, &params, 0, scene.device));
}

void end_context() {
  MUST(cuCtxDestroy(g_other));
  MUST(cuCtxSetCurrent(scene.context));
}

}  // namespace uses

int main(int count, char** arguments) {
  if (count < 2) return 2;
  if (std::strcmp(arguments[1], "list") == 0) {
    uses::each_case([](int number, const uses::State& state, const uses::Use& use) {
      std::printf("%d\t%s\t%s\t%s\t%s\n", number, state.kind, state.object, state.state, use.call);
    });
    return 0;
  }
  const int wanted = std::atoi(arguments[1]);
  uses::each_case([&](int number, const uses::State& state, const uses::Use& use) {
    if (number != wanted) return;
    uses::begin();
    uses::Object object;
    state.make(object);
    const CUresult result = use.make(object);
    std::printf("answer %d\n", result);
    std::fflush(stdout);
    // A program that ends well may have meant to try the call: its refusals are not printed.
    if (result != CUDA_SUCCESS) ::_exit(1);
    cuCtxSynchronize();
    ::_exit(0);
  });
  return 2;
}
