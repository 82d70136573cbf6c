// A library linked to a libcudart of its own, as Python's extensions are.
#include "shim/testing/runtime_twins.h"

extern "C" __attribute__((visibility("default"))) int plugin_runtime() {
  return cudaIpcCloseMemHandle(nullptr);
}
