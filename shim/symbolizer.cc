#include "shim/symbolizer.h"

#include <dlfcn.h>

#include <atomic>
#include <string_view>

#include "shim/symbolize/symbolize_abi.h"

namespace cuvmm::shim {

namespace {

std::string own_folder() {
  Dl_info self;
  if (!::dladdr(reinterpret_cast<const void*>(&own_folder), &self) || !self.dli_fname) return {};
  const std::string path = self.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

CuvmmSymbolizeFunction load() {
  const std::string path = own_folder() + "/libcuvmm-symbolize.so";
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  return reinterpret_cast<CuvmmSymbolizeFunction>(::dlsym(library, "cuvmmSymbolize"));
}

// Two threads may both load it: dlopen counts, and a lock of ours around the loader's could
// deadlock with a constructor that makes a faulty call.
CuvmmSymbolizeFunction symbolizer() {
  static std::atomic<bool> tried{false};
  static std::atomic<CuvmmSymbolizeFunction> function{nullptr};
  if (!tried.load(std::memory_order_acquire)) {
    function.store(load(), std::memory_order_relaxed);
    tried.store(true, std::memory_order_release);
  }
  return function.load(std::memory_order_relaxed);
}

Frame by_dladdr(std::uintptr_t address) {
  Frame frame;
  Dl_info info;
  if (!::dladdr(reinterpret_cast<const void*>(address - 1), &info)) return frame;
  if (info.dli_fname) frame.module = info.dli_fname;
  if (info.dli_sname) frame.function = info.dli_sname;
  frame.offset = address - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  return frame;
}

void add_frame(void* context, const CuvmmSymbol* symbol) {
  auto& frames = *static_cast<std::vector<Frame>*>(context);
  Frame& frame = frames.emplace_back();
  if (symbol->function) {
    // Without the symbol version that glibc's table carries ("__libc_start_main@@GLIBC_2.34").
    const std::string_view name = symbol->function;
    frame.function = name.substr(0, name.find('@'));
  }
  if (symbol->module) frame.module = symbol->module;
  frame.offset = symbol->offset;
  if (symbol->file) frame.file = symbol->file;
  frame.line = symbol->line;
}

}  // namespace

std::vector<Frame> symbolize(std::span<const std::uintptr_t> addresses) {
  std::vector<Frame> frames;
  if (addresses.empty()) return frames;
  frames.reserve(addresses.size());
  const CuvmmSymbolizeFunction function = symbolizer();
  if (function && function(addresses.data(), addresses.size(), &add_frame, &frames) == 0) {
    return frames;
  }
  for (const std::uintptr_t address : addresses) frames.push_back(by_dladdr(address));
  return frames;
}

std::vector<Frame> symbolize(StackId stack) { return symbolize(stack_frames(stack)); }

}  // namespace cuvmm::shim
