// SPDX-License-Identifier: Apache-2.0
#include "tools/crash/crash_symbols.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "tools/installation/layout.h"

namespace cuvmm::tools {

namespace {

// The layout of the shim's symbolize_abi.h (shim/symbolize), which only the shim may include.
struct Symbol {
  const char* function;
  const char* module;
  std::uint64_t offset;
  const char* file;
  int line;
};
using SymbolizeMaps = int (*)(const char* maps, std::size_t bytes, const std::uintptr_t* addresses,
                              std::size_t count, void (*sink)(void*, const Symbol*), void* context);

SymbolizeMaps find_symbolizer() {
  const LayoutResult layout = find_layout(own_folder());
  if (!layout.error.empty()) return nullptr;
  const auto path =
      std::filesystem::path(layout.layout.shim).parent_path() / "libcuvmm-symbolize.so";
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<SymbolizeMaps>(::dlsym(library, "cuvmmSymbolizeMaps"))
                 : nullptr;
}

// Finds the module by the map alone: the module's first mapping is its load address.
frames::Frame by_map(const std::string& maps, std::uint64_t address) {
  std::istringstream lines(maps);
  std::string path_before;
  std::uint64_t start_of_module = 0;
  for (std::string line; std::getline(lines, line);) {
    unsigned long long low = 0, high = 0;
    int at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %*s %n", &low, &high, &at) < 2) continue;
    const auto begin = static_cast<std::size_t>(at);
    const std::string path = begin != 0 && begin < line.size() ? line.substr(begin) : "";
    if (path != path_before) start_of_module = low;
    path_before = path;
    if (address < low || address >= high || path.empty()) continue;
    return {"", path, address - start_of_module, "", 0};
  }
  return {"", "", address, "", 0};
}

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

std::vector<frames::Frame> crash_frames(const std::string& maps,
                                        const std::vector<std::uint64_t>& addresses) {
  static const SymbolizeMaps symbolizer = find_symbolizer();
  std::vector<frames::Frame> frames;
  for (const std::uint64_t address : addresses) {
    struct Context {
      std::vector<frames::Frame>& frames;
      std::uint64_t address;
    } context{frames, address};
    const auto sink = [](void* to, const Symbol* symbol) {
      const Context& into = *static_cast<Context*>(to);
      const auto text = [](const char* one) { return one ? std::string(one) : std::string(); };
      into.frames.push_back({text(symbol->function), text(symbol->module),
                             symbol->module ? symbol->offset : into.address, text(symbol->file),
                             symbol->line});
    };
    // Each address is resolved alone, because a frame with inlined functions yields several lines.
    const std::uintptr_t frame = address;
    const std::size_t before = frames.size();
    if (symbolizer && !maps.empty() &&
        symbolizer(maps.data(), maps.size(), &frame, 1, sink, &context) == 0) {
      continue;
    }
    frames.resize(before);
    frames.push_back(by_map(maps, address));
  }
  return frames;
}

std::string frame_line(std::size_t number, const frames::Frame& frame) {
  std::string text = fmt::format("#{} ", number);
  if (!frame.function.empty()) text += frame.function + " ";
  // Python frames show the whole path, because many files have one name, such as __init__.py.
  if (frame.python()) return text + fmt::format("at {}:{} (Python)", frame.file, frame.line);
  if (!frame.file.empty()) text += fmt::format("at {}:{} ", base_name(frame.file), frame.line);
  if (frame.module.empty()) return text + fmt::format("({:#x})", frame.offset);
  return text + fmt::format("({}+{:#x})", base_name(frame.module), frame.offset);
}

std::vector<std::string> crash_stack(const std::string& maps,
                                     const std::vector<std::uint64_t>& addresses) {
  std::vector<std::string> lines;
  for (const frames::Frame& frame : crash_frames(maps, addresses)) {
    lines.push_back(frame_line(lines.size(), frame));
  }
  return lines;
}

}  // namespace cuvmm::tools
