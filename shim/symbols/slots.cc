// SPDX-License-Identifier: Apache-2.0
#include "shim/symbols/slots.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include "api/multicast.h"
#include "shim/cuvmm_api/fork_point.h"
#include "shim/driver/memory_names.h"
#include "shim/driver/no_driver.h"
#include "shim/guard/guard.h"
#include "shim/intercept/object_functions.h"
#include "shim/intercept/wrappers.h"
#include "shim/process/process.h"
#include "shim/symbols/get_proc_address.h"

namespace cuvmm::shim {

namespace {

constexpr const char* kNames[] = {
#define CUVMM_DRIVER_SYMBOL(index, name) #name,
#include "shim/driver_symbols.inc"
#undef CUVMM_DRIVER_SYMBOL
};

void* own_function(std::string_view name) {
  if (name == "cuGetProcAddress") return get_proc_address_of(11030);
  if (name == "cuGetProcAddress_v2") return get_proc_address_of(12000);
  for (const SymbolInfo& info : symbols()) {
    if (name == info.name) return wrapper_of(info.symbol);
  }
  return nullptr;
}

}  // namespace

void* target_of(std::string_view name) {
  Process& process = Process::get();
  const RealDriver& driver = process.driver();
  if (!driver.library) return missing_function(name, false);
  void* const theirs = driver.find(name.data());
  if (!theirs) return missing_function(name, true);
  if (can_multicast(name) && !process.multicast_allowed()) return refused_multicast_function();
  if (void* const wrapper = own_function(name)) return wrapper;
  if (void* const wrapper = guarded_function(name.data(), theirs)) return wrapper;
  if (void* const wrapper = fork_point_function(name.data(), theirs)) return wrapper;
  if (void* const wrapper = object_function(name.data(), theirs)) return wrapper;
  try {
    if (auto why = unchecked_symbol(name)) {
      process.note_unchecked(std::move(*why));
      if (changes_memory(name)) process.note_unchecked_call(std::string(name));
    }
  } catch (...) {
    // Out of memory: the call is made without the note.
  }
  return theirs;
}

}  // namespace cuvmm::shim

/// The table that the stubs of stubs.S jump through.
extern "C" __attribute__((visibility("hidden"))) std::atomic<void*> cuvmm_slots[];

/// Called by the lazy entries of stubs.S with the caller's argument registers saved.
extern "C" __attribute__((visibility("hidden"), used)) void* cuvmm_resolve_slot(
    unsigned index) noexcept {
  const int saved = errno;
  void* const target = cuvmm::shim::target_of(cuvmm::shim::kNames[index]);
  cuvmm_slots[index].store(target, std::memory_order_release);
  errno = saved;
  return target;
}
