// SPDX-License-Identifier: Apache-2.0
// A program that calls a function which the shim does not wrap, in a shared libcudart.
#include "shim/testing/misuse.h"
#include "shim/testing/runtime_twins.h"

namespace {

[[gnu::noinline]] void free_by_name() { require(cudaFree(nullptr) == 0, "the result arrives"); }

}  // namespace

int main() {
  free_by_name();
  return 0;
}
