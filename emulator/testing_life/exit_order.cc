// SPDX-License-Identifier: Apache-2.0
// Which destructors and exit handlers still find the driver usable: prints the answers of calls in
// each; the runner compares them with those of an H200 with driver 580.159.04. The argument says
// when the program calls cuInit: early (in a constructor before all others), main, late (in an exit
// handler), or never; or quick: main, then quick_exit; child: main, then the end of a child of
// fork.
#include "emulator/testing_life/life.h"

namespace {

char mode[16];

void show(const char* where) {
  int number = 0;
  const char* text = nullptr;
  void* function = nullptr;
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  std::printf("%s: %d %d %d %d", where, cuDriverGetVersion(&number), cuDriverGetVersion(nullptr),
              cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text),
              cuGetProcAddress("cuMemMap", &function, 12000, 0, nullptr));
  std::printf(" | %d %d %d %d %d %d\n", cuDeviceGetCount(&number), cuCtxGetCurrent(&context),
              cuCtxGetCurrent(nullptr), cuMemAddressReserve(&address, kGranule, 0, 0, 0),
              cuMemFree(0), cuMemUnmap(0, 0));
  std::fflush(stdout);
}

bool is(const char* wanted) { return std::strcmp(mode, wanted) == 0; }

struct Object {
  const char* name;
  ~Object() { show(name); }
};

struct First {
  First() {
    if (FILE* file = std::fopen("/proc/self/cmdline", "r")) {
      char line[4096] = {};
      const size_t got = std::fread(line, 1, sizeof line - 1, file);
      std::fclose(file);
      const size_t at = std::strlen(line) + 1;
      if (at < got) std::snprintf(mode, sizeof mode, "%s", line + at);
    }
    if (is("early")) use_device();
  }
};
First first __attribute__((init_priority(101)));
Object global{"global"};
thread_local Object of_thread{"thread_local"};
__attribute__((destructor)) void at_end() { show("fini_array"); }

}  // namespace

int main() {
  (void)&of_thread;
  std::atexit([] {
    if (is("late")) use_device();
    show("atexit before");
  });
  std::at_quick_exit([] { show("at_quick_exit"); });
  if (is("main") || is("quick") || is("child")) use_device();
  if (!is("child")) static Object later{"static after"};
  if (is("quick")) std::quick_exit(0);
  if (is("child")) {
    EXPECT(ending_of([] {
             show("child");
             _exit(0);
           }) == 0);
    _exit(0);
  }
  return 0;
}
