// SPDX-License-Identifier: Apache-2.0
#include "api/driver/driver.h"

#include <dlfcn.h>
#include <link.h>

#include "api/multicast.h"
#include "api/newer/pools.h"
#include "api/symbols/symbol_table.h"
#include "api/visit_call.h"

namespace cuvmm {

namespace {
constexpr std::size_t kEntryCount = static_cast<std::size_t>(EntryPoint::kCount);

// The newest ABI with the legacy stream, to which <cuda.h>'s #define of the plain name expands.
constexpr std::array<Symbol, kEntryCount> primary_symbols() {
  std::array<Symbol, kEntryCount> primary{};
  std::array<int, kEntryCount> version{};
  primary.fill(Symbol::kCount);
  version.fill(-1);
  for (const SymbolInfo& info : kSymbolTable) {
    const auto entry = static_cast<std::size_t>(info.entry);
    if (info.entry == EntryPoint::kCount || info.flags != 0 || info.version <= version[entry]) {
      continue;
    }
    primary[entry] = info.symbol;
    version[entry] = info.version;
  }
  return primary;
}

// May stand for any function, because the C calling convention lets a function ignore its
// arguments.
CUresult not_supported() { return CUDA_ERROR_NOT_SUPPORTED; }

// The driver's own function, behind one of the functions below, which refuse managed memory.
template <class CallStruct>
typename CallStruct::Function unguarded = nullptr;

CUresult CUDAAPI pool_create(CUmemoryPool* pool, const CUmemPoolProps* props) {
  if (props && props->allocType == kManagedMemory) return CUDA_ERROR_NOT_SUPPORTED;
  return unguarded<calls::MemPoolCreate>(pool, props);
}
CUresult CUDAAPI default_pool(CUmemoryPool* pool, CUmemLocation* at, CUmemAllocationType type) {
  if (type == kManagedMemory) return CUDA_ERROR_NOT_SUPPORTED;
  return unguarded<calls::MemGetDefaultMemPool>(pool, at, type);
}
CUresult CUDAAPI current_pool(CUmemoryPool* pool, CUmemLocation* at, CUmemAllocationType type) {
  if (type == kManagedMemory) return CUDA_ERROR_NOT_SUPPORTED;
  return unguarded<calls::MemGetMemPool>(pool, at, type);
}
CUresult CUDAAPI set_pool(CUmemLocation* at, CUmemAllocationType type, CUmemoryPool pool) {
  if (type == kManagedMemory) return CUDA_ERROR_NOT_SUPPORTED;
  return unguarded<calls::MemSetMemPool>(at, type, pool);
}

template <class CallStruct>
void guard(Driver& driver, typename CallStruct::Function instead) {
  const Symbol symbol = Driver::primary_symbol(CallStruct::kEntryPoint);
  unguarded<CallStruct> = driver.function<CallStruct>();
  if (unguarded<CallStruct>) driver.set(symbol, reinterpret_cast<Driver::AnyFunction>(instead));
}

// On some machines cuvmm must not make managed memory, so such calls do not reach the driver.
void keep_managed_away(Driver& driver) {
  guard<calls::MemPoolCreate>(driver, &pool_create);
  guard<calls::MemGetDefaultMemPool>(driver, &default_pool);
  guard<calls::MemGetMemPool>(driver, &current_pool);
  guard<calls::MemSetMemPool>(driver, &set_pool);
  for (const SymbolInfo& info : symbols()) {
    if (std::string_view(info.name) != "cuMemAllocManaged") continue;
    driver.set(info.symbol, reinterpret_cast<Driver::AnyFunction>(&not_supported));
  }
}

std::string resolved_path(void* library, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) {
    return map->l_name;
  }
  return fallback;
}
}  // namespace

Symbol Driver::primary_symbol(EntryPoint entry) {
  // A constant, because a local variable that a thread initialises while another thread forks stays
  // half made in the child, and the child then waits for it for ever.
  static constexpr std::array<Symbol, kEntryCount> kPrimary = primary_symbols();
  return kPrimary[static_cast<std::size_t>(entry)];
}

CUresult Driver::operator()(const Call& call) const {
  if (call.entry_point() == EntryPoint::kCount) return CUDA_ERROR_INVALID_VALUE;
  return visit_call<CUresult>(call, *this);
}

LoadedDriver load_driver(const std::string& path, bool allow_multicast) {
  LoadedDriver loaded;
  loaded.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded.library) {
    const char* reason = dlerror();
    loaded.error = reason ? reason : "dlopen of " + path + " failed";
    return loaded;
  }
  loaded.path = resolved_path(loaded.library, path);
  loaded.emulated = dlsym(loaded.library, "cuvmmEmulatorVersion") != nullptr;
  loaded.multicast =
      loaded.emulated || allow_multicast || dlsym(loaded.library, "cuvmmShimVersion") != nullptr;
  for (const SymbolInfo& info : symbols()) {
    const bool refused = !loaded.multicast && can_multicast(info.name);
    loaded.driver.set(info.symbol, refused ? reinterpret_cast<Driver::AnyFunction>(&not_supported)
                                           : reinterpret_cast<Driver::AnyFunction>(
                                                 dlsym(loaded.library, info.name)));
  }
  const bool shim = dlsym(loaded.library, "cuvmmShimVersion") != nullptr;
  if (!loaded.emulated && !shim) keep_managed_away(loaded.driver);
  if (!loaded.driver.function<calls::Init>()) {
    loaded.error = loaded.path + " is not a libcuda: it does not export cuInit";
  }
  return loaded;
}

}  // namespace cuvmm
