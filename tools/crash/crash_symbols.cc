// SPDX-License-Identifier: Apache-2.0
#include "tools/crash/crash_symbols.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "tools/run/layout.h"

namespace cuvmm::tools {

namespace {

// As shim/symbolize/symbolize_abi.h has it, which is the shim's own.
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

void add_line(std::vector<std::string>& lines, const Symbol& symbol, std::uint64_t address) {
  std::string text = fmt::format("#{} ", lines.size());
  if (symbol.function) text += std::string(symbol.function) + " ";
  if (symbol.file) {
    text += fmt::format("at {}:{} ", std::filesystem::path(symbol.file).filename().string(),
                        symbol.line);
  }
  if (symbol.module) {
    text += fmt::format("({}+{:#x})", std::filesystem::path(symbol.module).filename().string(),
                        symbol.offset);
  } else {
    text += fmt::format("({:#x})", address);
  }
  lines.push_back(text);
}

// The module by the map alone: its first mapping is where it was loaded.
Symbol by_map(const std::string& maps, std::uint64_t address, std::string& module) {
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
    module = path;
    return {nullptr, module.c_str(), address - start_of_module, nullptr, 0};
  }
  return {};
}

}  // namespace

std::vector<std::string> crash_stack(const std::string& maps,
                                     const std::vector<std::uint64_t>& addresses) {
  static const SymbolizeMaps symbolizer = find_symbolizer();
  std::vector<std::string> lines;
  for (const std::uint64_t address : addresses) {
    struct Context {
      std::vector<std::string>& lines;
      std::uint64_t address;
    } context{lines, address};
    const auto sink = [](void* to, const Symbol* symbol) {
      const Context& into = *static_cast<Context*>(to);
      add_line(into.lines, *symbol, into.address);
    };
    // One by one: a frame with inlined functions yields more than one line.
    const std::uintptr_t frame = address;
    const std::size_t before = lines.size();
    if (symbolizer && !maps.empty() &&
        symbolizer(maps.data(), maps.size(), &frame, 1, sink, &context) == 0) {
      continue;
    }
    lines.resize(before);
    std::string module;
    add_line(lines, by_map(maps, address, module), address);
  }
  return lines;
}

}  // namespace cuvmm::tools
