// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/way_out.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "frames/stack_text.h"
#include "shim/modules/module_map.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

namespace {

bool of_the_system(std::string_view path) {
  const std::string_view file = frames::file_name(path);
  for (const std::string_view prefix : {"libc.so", "libc-", "ld-linux", "ld-2", "libcuvmm-shim"}) {
    if (file.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

bool main_returned(const Caller& caller) noexcept {
  // If another thread calls exit(), main() is still running.
  if (::gettid() != ::getpid()) return false;
  try {
    const auto frames = stack_frames(capture_stack(caller));
    const ModuleMap modules = ModuleMap::of_this_process();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (of_the_system(modules.find(frames[i]).path)) continue;
      // _start calls the C library, which called main(): no function of the program is below.
      if (i + 1 == frames.size()) return true;
      Dl_info info{};
      // Python ends by Py_Exit() after SystemExit: all functions of the script have been unwound.
      return ::dladdr(reinterpret_cast<void*>(frames[i] - 1), &info) != 0 && info.dli_sname &&
             std::strcmp(info.dli_sname, "Py_Exit") == 0;
    }
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace cuvmm::shim
