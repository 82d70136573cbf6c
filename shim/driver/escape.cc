// SPDX-License-Identifier: Apache-2.0
#include "shim/driver/escape.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <climits>
#include <map>

#include "api/symbols/symbols.h"
#include "shim/modules/proc_maps.h"

namespace cuvmm::shim {

namespace {

// A library that defines functions with names of the driver's functions.
struct Interposer {
  std::string library;
  std::vector<std::string> functions;
};

// Resolves into a buffer on the stack, because a signal may have interrupted code that was changing
// the program's heap.
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
  // Counts how many times each part of a file that holds code is mapped. A process that only reads
  // the file (a debugger, a profiler) maps no part of it as executable; a loader maps each part
  // once for each load. If mprotect cut a part in pieces, the pieces have different offsets.
  std::map<std::string_view, std::map<std::uint64_t, int>> loads;
  while (const auto mapping = next_file_mapping(maps)) {
    const auto [low, high, permissions, offset, path] = *mapping;
    if (permissions.find('x') == std::string_view::npos) continue;
    if (path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) ++loads[path][offset];
  }
  std::vector<std::string> escaped;
  for (const auto& [path, parts] : loads) {
    const bool is_known = std::find(known.begin(), known.end(), path) != known.end();
    const bool again =
        std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.second > 1; });
    if (!is_known || again) escaped.emplace_back(path);
  }
  return escaped;
}

std::vector<std::string> escaped_libraries(const std::string& driver) {
  std::vector<std::string> known{own_path()};
  if (!driver.empty()) known.push_back(real_path(driver));
  return escaped_libraries_in(read_proc_maps(), known);
}

namespace {

const void* own_base() {
  Dl_info self;
  return ::dladdr(reinterpret_cast<const void*>(&own_base), &self) ? self.dli_fbase : nullptr;
}

// Whether this library is the first after the program in the loader's order.
bool is_first(const link_map* program) {
  const link_map* next = program->l_next;
  while (next && std::string_view(next->l_name).starts_with("linux-vdso")) next = next->l_next;
  return next && reinterpret_cast<const void*>(next->l_addr) == own_base();
}

// The libraries whose functions of the driver's names `where`, a handle of dlsym(), leads to:
// without this library, any libcuda, and the program itself.
std::vector<Interposer> interposers(void* where) {
  std::map<std::string, std::vector<std::string>> found;
  for (const SymbolInfo& symbol : symbols()) {
    Dl_info info{};
    link_map* map = nullptr;
    void* const function = ::dlsym(where, symbol.name);
    // A library that hooks dlsym() may have searched from its own place, and returned this
    // library's function.
    if (!function || !::dladdr1(function, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ||
        !info.dli_fname || !map || !map->l_name || !*map->l_name) {
      continue;
    }
    if (info.dli_fbase == own_base()) continue;
    const std::string_view path = info.dli_fname;
    if (path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) continue;
    found[info.dli_fname].emplace_back(symbol.name);
  }
  ::dlerror();  // errors of these calls must not be left for the program's dlerror()
  std::vector<Interposer> result;
  for (auto& [library, functions] : found) result.push_back({library, std::move(functions)});
  return result;
}

// Never destroyed, because the report at the end of the process reads it.
const std::vector<Interposer>* g_before = nullptr;

// "libquota.so has functions of the driver's names (cuMemAlloc_v2, cuMemFreeAsync)".
std::string whose(const Interposer& one) {
  constexpr std::size_t kMostNamed = 4;
  const std::vector<std::string>& functions = one.functions;
  std::string text = one.library + " has functions of the driver's names (";
  for (std::size_t i = 0; i < functions.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : ", ") + functions[i];
  if (functions.size() > kMostNamed)
    text += " and " + std::to_string(functions.size() - kMostNamed) + " more";
  return text + ")";
}

}  // namespace

std::vector<std::string> interposed_libraries() {
  std::vector<std::string> sentences;
  // Not RTLD_DEFAULT, because a search from this library finds its own symbols first.
  void* const program = ::dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  const bool alone = !program || is_first(static_cast<const link_map*>(program));
  if (!alone && !g_before) g_before = new std::vector<Interposer>(interposers(program));
  for (const Interposer& before : alone || !g_before ? std::vector<Interposer>() : *g_before) {
    sentences.push_back(
        whose(before) +
        " and comes before cuvmm: the program's calls of them go to that library, and cuvmm sees "
        "only those that it passes on. That library may be the cause of an unexpected answer, or "
        "of "
        "memory that seems never freed: to find out, run once more without it (LD_PRELOAD)");
  }
  if (program) ::dlclose(program);
  for (const Interposer& behind : interposers(RTLD_NEXT)) {
    sentences.push_back(
        whose(behind) +
        ", which the program did not reach, because cuvmm's shim comes before it: preload the "
        "library before the shim, and cuvmm checks what it calls");
  }
  return sentences;
}

std::string library_before(std::string_view symbol) {
  if (!g_before) return {};
  for (const Interposer& one : *g_before) {
    if (std::find(one.functions.begin(), one.functions.end(), symbol) != one.functions.end())
      return one.library;
  }
  return {};
}

}  // namespace cuvmm::shim
