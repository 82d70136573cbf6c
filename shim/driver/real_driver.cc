// SPDX-License-Identifier: Apache-2.0
#include "shim/driver/real_driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <string_view>

#include "api/multicast.h"
#include "shim/driver/loader_cache.h"
#include "shim/driver/no_driver.h"

namespace cuvmm::shim {

namespace {

constexpr const char* kSoname = "libcuda.so.1";

constexpr const char* kFolders[] = {
#if defined(__x86_64__)
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
    "/lib64", "/usr/lib64", "/lib", "/usr/lib",
    // Folders in which containers and WSL mount the driver of the host.
    "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib"};

void add_search_path(std::string_view path, std::vector<std::string>& out) {
  while (!path.empty()) {
    const std::size_t end = path.find_first_of(":;");
    std::string folder(path.substr(0, end));
    // An empty element is the current folder, as for the loader.
    out.push_back((folder.empty() ? "." : folder) + "/" + kSoname);
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 1);
  }
}

// dlopen needs a slash, or it would search (and find this shim, which has the driver's soname).
std::string as_path(const std::string& name) {
  char* resolved = ::realpath(name.c_str(), nullptr);
  if (!resolved) return name.find('/') == std::string::npos ? "./" + name : name;
  std::string path = resolved;
  ::free(resolved);
  return path;
}

bool same_file_as_us(const std::string& path) {
  Dl_info self;
  struct stat own, other;
  return ::dladdr(reinterpret_cast<const void*>(&same_file_as_us), &self) != 0 && self.dli_fname &&
         ::stat(self.dli_fname, &own) == 0 && ::stat(path.c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

// Whether `library` is a cuvmm shim: whether dlsym() finds the shim's version function in it.
bool is_shim(void* library) { return ::dlsym(library, "cuvmmShimVersion") != nullptr; }

const char* loader_error() {
  const char* sentence = ::dlerror();
  return sentence ? sentence : "the loader gave no reason";
}

// The program never gets a wrapper of a refused function; but if one is reached in another way, or
// cuvmm itself calls the function, the table must not lead to the driver.
void fill(RealDriver& driver, bool allow_multicast) {
  driver.emulated = driver.find("cuvmmEmulatorVersion") != nullptr;
  const bool multicast = allow_multicast || driver.emulated;
  for (const SymbolInfo& info : symbols()) {
    void* function = driver.find(info.name);
    if (function && !multicast && can_multicast(info.name)) function = refused_multicast_function();
    driver.functions.set(info.symbol, reinterpret_cast<Driver::AnyFunction>(function));
  }
}

bool try_open(const std::string& path, const Options& options, RealDriver& driver) {
  if (same_file_as_us(path)) return false;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    driver.error = loader_error();
    return false;
  }
  if (is_shim(library)) {
    driver.error = path + " is a cuvmm shim, not a driver";
    ::dlclose(library);
    return false;
  }
  driver.library = library;
  driver.path = path;
  driver.error.clear();
  fill(driver, options.allow_multicast);
  return true;
}

}  // namespace

void* RealDriver::find(const char* name) const {
  return library ? ::dlsym(library, name) : nullptr;
}

std::vector<std::string> driver_candidates(const Options& options) {
  if (!options.driver.empty()) return {options.driver};
  std::vector<std::string> candidates;
  if (const char* path = ::secure_getenv("LD_LIBRARY_PATH")) add_search_path(path, candidates);
  for (std::string& path : find_in_loader_cache_file("/etc/ld.so.cache", kSoname)) {
    candidates.push_back(std::move(path));
  }
  for (const char* folder : kFolders) candidates.push_back(std::string(folder) + "/" + kSoname);
  return candidates;
}

RealDriver open_driver(const Options& options) {
  RealDriver driver;
  for (const std::string& candidate : driver_candidates(options)) {
    struct stat file;
    // A candidate may be a folder: then the libcuda.so.1 in it is opened.
    std::string path = candidate;
    if (::stat(path.c_str(), &file) != 0) continue;
    if (S_ISDIR(file.st_mode)) path += std::string("/") + kSoname;
    if (try_open(as_path(path), options, driver)) return driver;
  }
  if (driver.error.empty()) {
    driver.error = options.driver.empty() ? "no libcuda.so.1 where the loader searches"
                                          : "CUVMM_DRIVER=" + options.driver + " does not exist";
  }
  return driver;
}

}  // namespace cuvmm::shim
