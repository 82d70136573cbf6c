// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/symbolizer.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <new>
#include <string_view>

#include "api/posix/cancel_off.h"
#include "frames/cxx_names.h"
#include "frames/interleave.h"
#include "shim/base/own_stack.h"
#include "shim/modules/module_map.h"
#include "shim/stack/own_descriptors.h"
#include "shim/stack/python/names.h"
#include "shim/stack/python/python_stack.h"
#include "shim/symbolize/symbolize_abi.h"

namespace cuvmm::shim {

namespace {

std::string own_folder() {
  Dl_info self;
  if (!::dladdr(reinterpret_cast<const void*>(&own_folder), &self) || !self.dli_fname) return {};
  // `cuvmm run` preloads a link in a folder of its own; the shim's other files lie beside the real
  // file.
  char* const real = ::realpath(self.dli_fname, nullptr);
  const std::string path = real ? real : self.dli_fname;
  ::free(real);
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

CuvmmSymbolizeFunction load() {
  const std::string path = own_folder() + "/libcuvmm-symbolize.so";
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  return reinterpret_cast<CuvmmSymbolizeFunction>(::dlsym(library, "cuvmmSymbolize"));
}

std::atomic<bool> g_tried{false};
std::atomic<bool> g_interrupted{false};
std::atomic<int> g_loading{0};  // threads in load()
std::atomic<CuvmmSymbolizeFunction> g_function{nullptr};

void add_frame(void* context, const CuvmmSymbol* symbol) {
  auto& frames = *static_cast<std::vector<Frame>*>(context);
  Frame& frame = frames.emplace_back();
  if (symbol->function) frame.function = frames::demangled(symbol->function);
  if (symbol->module) frame.module = symbol->module;
  frame.offset = symbol->offset;
  if (symbol->file) frame.file = symbol->file;
  frame.line = symbol->line;
}

// The facts of the kernel, and the names of exported functions if the loader may be called.
std::vector<Frame> without_symbols(std::span<const std::uintptr_t> addresses, bool ask_loader) {
  const ModuleMap map = ModuleMap::of_this_process();
  std::vector<Frame> frames;
  frames.reserve(addresses.size());
  for (const std::uintptr_t address : addresses) {
    Frame& frame = frames.emplace_back();
    const ModuleMap::Place place = map.find(address - 1);
    frame.module = place.path;
    if (!place.path.empty()) frame.offset = place.offset + 1;
    Dl_info info;
    if (!ask_loader || !::dladdr(reinterpret_cast<const void*>(address - 1), &info)) continue;
    if (info.dli_sname) frame.function = frames::demangled(info.dli_sname);
    if (!frame.module.empty() || !info.dli_fname) continue;
    frame.module = info.dli_fname;  // /proc could not be read
    frame.offset = address - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  }
  return frames;
}

}  // namespace

// Two threads may both load the library: dlopen counts, and a lock of cuvmm around the loader's
// could deadlock with a constructor that makes a faulty call.
void prepare_symbolizer() noexcept {
  if (g_tried.load(std::memory_order_acquire) || t_state.care == Care::kAsInterrupted) return;
  const CancelOff no_cancel;
  with_descriptors([]() noexcept {
    find_python();  // the program may have loaded Python since it opened the driver
    g_loading.fetch_add(1);
    try {
      g_function.store(load(), std::memory_order_relaxed);
    } catch (...) {
      // Out of memory: findings do without symbols.
    }
    g_loading.fetch_sub(1);
  });
  g_tried.store(true, std::memory_order_release);
}

void do_without_symbols() noexcept { g_tried.store(true, std::memory_order_release); }

static std::vector<Frame> symbolize_here(std::span<const std::uintptr_t> addresses) {
  std::vector<Frame> frames;
  if (addresses.empty()) return frames;
  const bool held = findings_stack().held_here() && !g_interrupted.load(std::memory_order_relaxed);
  if (!held || t_state.care == Care::kAsInterrupted) return without_symbols(addresses, false);
  frames.reserve(addresses.size());
  const CuvmmSymbolizeFunction function = g_function.load(std::memory_order_acquire);
  if (function && function(addresses.data(), addresses.size(), &add_frame, &frames) == 0) {
    return frames;
  }
  return without_symbols(addresses, true);
}

std::vector<Frame> symbolize(std::span<const std::uintptr_t> addresses) {
  // A signal may have interrupted any code: then the thread starts nothing new.
  if (addresses.empty() || t_state.care == Care::kAsInterrupted) return symbolize_here(addresses);
  std::vector<Frame> frames;
  bool out_of_memory = false;
  with_descriptors([&]() noexcept {
    try {
      frames = symbolize_here(addresses);
    } catch (...) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
  return frames;
}

void symbolizer_was_interrupted() noexcept {
  g_interrupted.store(true);
  do_without_symbols();
}

bool symbolizer_loads() noexcept { return g_loading.load() != 0; }

std::vector<Frame> symbolize(StackId stack) {
  return with_python_frames(symbolize(stack_frames(stack)), python_lines(stack_python(stack)));
}

}  // namespace cuvmm::shim
