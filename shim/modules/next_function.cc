// SPDX-License-Identifier: Apache-2.0
#include "shim/modules/next_function.h"

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::shim {

namespace {

bool is_runtime_library(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("libcudart");
}

bool in_runtime_library(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) && info.dli_fname && is_runtime_library(info.dli_fname);
}

void* find_in(const char* path, const char* name) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  void* const found = dlsym(library, name);
  dlclose(library);  // its own reference, just taken
  return found;
}

// The main program's own scope is the global one, in which the shim comes first and another
// libcudart may be preloaded: the result is the libcudart that the program was linked with.
void* from_main_program(const char* name, const link_map& map) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = map.l_ld; entry && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  if (!strings) return nullptr;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const char* const needed = strings + entry->d_un.d_val;
    if (entry->d_tag == DT_NEEDED && is_runtime_library(needed)) return find_in(needed, name);
  }
  return nullptr;
}

void* from_dependencies(const char* name, std::uintptr_t caller) {
  Dl_info info{};
  link_map* map = nullptr;
  const auto* address = reinterpret_cast<const void*>(caller);
  if (!dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP)) return nullptr;
  if (!map || !map->l_name) return nullptr;
  if (!*map->l_name) return from_main_program(name, *map);
  return find_in(map->l_name, name);
}

// A tail call leaves no frame of its library on the stack.
void* from_any_runtime_library(const char* name) {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (is_runtime_library(info->dlpi_name)) {
          static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
  for (const std::string& path : paths) {
    if (void* const found = find_in(path.c_str(), name)) return found;
  }
  return nullptr;
}

}  // namespace

void* next_function(const char* name, std::uintptr_t caller) noexcept {
  const int saved = errno;
  void* next = dlsym(RTLD_NEXT, name);
  if (!next || in_runtime_library(next)) {
    if (void* const theirs = from_dependencies(name, caller)) next = theirs;
  }
  if (!next) {
    try {
      next = from_any_runtime_library(name);
    } catch (...) {
      next = nullptr;  // no memory for a list of paths
    }
  }
  dlerror();  // errors of these calls must not be left for the program's dlerror()
  errno = saved;
  return next;
}

}  // namespace cuvmm::shim
