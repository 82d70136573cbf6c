// SPDX-License-Identifier: Apache-2.0
// A program that calls the runtime's functions by name, linked to a shared or a static libcudart,
// or to none: then a plugin loads libcudart.
#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "shim/testing/misuse.h"
#include "shim/testing/runtime_twins.h"

namespace {

#if STAND_IN_MAJOR
[[gnu::noinline]] void call_by_name() {
  RuntimeIpcHandle handle;
  std::memset(&handle, 1, sizeof handle);
  handle.bytes[63] = 7;
  void* pointer = nullptr;
  errno = 0;
  require(cudaIpcOpenMemHandle(&pointer, handle, 100) == 63 + 7 + 100, "arguments arrive whole");
  require(pointer != nullptr, "out-parameters arrive");
  require(cudaIpcCloseMemHandle(nullptr) == STAND_IN_MAJOR, "its own copy of libcudart answers");
  require(errno == 0, "errno is left alone");
  require(cudaDestroyExternalMemory(nullptr) == 0, "the result arrives");
}
#else
void call_by_name() {}
#endif

// Opened with RTLD_LOCAL, so that the program's scope has none of its functions.
void call_plugin(const char* path, int major) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(plugin != nullptr, path);
  const auto runtime = [&](const char* name) {
    return reinterpret_cast<int (*)()>(dlsym(plugin, name))();
  };
  require(runtime("plugin_runtime") == -major, "the plugin's own copy of libcudart answers");
  const int answer = runtime("plugin_runtime_by_jump");
  // The shim cannot tell from which of two copies a jump came; one of the copies has to answer.
  require(answer == major || (STAND_IN_MAJOR && answer == STAND_IN_MAJOR), "a jump finds one");
}

}  // namespace

int main(int count, char** arguments) {
  call_by_name();
  if (count > 1) call_plugin(arguments[1], 12);
}
