// SPDX-License-Identifier: Apache-2.0
// dlopen and dlclose of the driver, 100 times, with a thread inside it: the driver's memory stays
// mapped, once. Argument: path of the library. The program is not linked with it.
#include <atomic>
#include <thread>

#include "emulator/testing_life/life.h"

namespace {

// The number of lines of the process's memory map: a second arena would add a line.
int mappings() {
  FILE* const file = std::fopen("/proc/self/maps", "r");
  EXPECT(file);
  int lines = 0;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) lines += c == '\n';
  std::fclose(file);
  return lines;
}

using Init = CUresult (*)(unsigned);
using Free = CUresult (*)(CUdeviceptr);

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 2);
  int after_first = 0;
  std::atomic<bool> stop{false};
  std::atomic<Free> inside{nullptr};
  std::thread caller;
  for (int i = 0; i < 100; ++i) {
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    EXPECT(library);
    EXPECT(dlsym(library, "cuvmmEmulatorVersion"));
    EXPECT(reinterpret_cast<Init>(dlsym(library, "cuInit"))(0) == CUDA_SUCCESS);
    if (i == 0) {
      inside = reinterpret_cast<Free>(dlsym(library, "cuMemFree_v2"));
      caller = std::thread([&] {
        while (!stop) EXPECT(inside.load()(0) == CUDA_SUCCESS);
      });
    }
    EXPECT(dlclose(library) == 0);
    if (i == 9) after_first = mappings();
  }
  EXPECT(mappings() < after_first + 20);
  stop = true;
  caller.join();
  return 0;
}
