// SPDX-License-Identifier: Apache-2.0
#include "shim/intercept/escape.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <climits>
#include <map>

#include "api/symbols/symbols.h"
#include "shim/stack/proc_maps.h"

namespace cuvmm::shim {

namespace {

// Into a buffer: memory of the program's heap may be what a signal interrupted.
std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) ? resolved : path;
}

std::string own_path() {
  Dl_info self;
  if (!::dladdr(reinterpret_cast<const void*>(&own_path), &self) || !self.dli_fname) return {};
  return real_path(self.dli_fname);
}

}  // namespace

std::vector<std::string> escaped_libraries_in(std::string_view maps,
                                              const std::vector<std::string>& known) {
  // How many times each part of a file that holds code is mapped. Who only reads the file (a
  // debugger, a profiler) maps none of it to be run; a loader maps each part once per load. One
  // that mprotect cut in pieces has pieces of different offsets.
  std::map<std::string_view, std::map<std::uint64_t, int>> loads;
  while (const auto mapping = next_file_mapping(maps)) {
    const auto [low, high, permissions, offset, path] = *mapping;
    if (permissions.find('x') == std::string_view::npos) continue;
    if (path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) ++loads[path][offset];
  }
  std::vector<std::string> escaped;
  for (const auto& [path, parts] : loads) {
    const bool ours = std::find(known.begin(), known.end(), path) != known.end();
    const bool again =
        std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.second > 1; });
    if (!ours || again) escaped.emplace_back(path);
  }
  return escaped;
}

std::vector<std::string> escaped_libraries(const std::string& driver) {
  std::vector<std::string> known{own_path()};
  if (!driver.empty()) known.push_back(real_path(driver));
  return escaped_libraries_in(read_proc_maps(), known);
}

std::vector<Bypassed> bypassed_libraries() {
  std::map<std::string, std::vector<std::string>> found;
  for (const SymbolInfo& symbol : symbols()) {
    Dl_info info{};
    void* const next = ::dlsym(RTLD_NEXT, symbol.name);
    // A library that hooks dlsym may have counted from its own place, and found us.
    if (!next || !::dladdr(next, &info) || !info.dli_fname) continue;
    if (real_path(info.dli_fname) == own_path()) continue;
    const std::string_view path = info.dli_fname;
    if (path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) continue;
    found[info.dli_fname].emplace_back(symbol.name);
  }
  ::dlerror();  // what failed here is not the program's to see
  std::vector<Bypassed> result;
  for (auto& [library, functions] : found) result.push_back({library, std::move(functions)});
  return result;
}

std::string sentence(const Bypassed& bypassed) {
  constexpr std::size_t kMostNamed = 4;
  const std::vector<std::string>& functions = bypassed.functions;
  std::string text = bypassed.library + " has functions of the driver's names (";
  for (std::size_t i = 0; i < functions.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : ", ") + functions[i];
  if (functions.size() > kMostNamed)
    text += " and " + std::to_string(functions.size() - kMostNamed) + " more";
  return text +
         "), which the program did not reach, because cuvmm's shim comes before it: preload the "
         "library before the shim, and cuvmm checks what it calls";
}

}  // namespace cuvmm::shim
