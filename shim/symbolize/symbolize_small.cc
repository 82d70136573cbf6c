// SPDX-License-Identifier: Apache-2.0
// libcuvmm-symbolize.so without elfutils: uses GCC's libbacktrace, which is linked in and needs
// only the C library. It reads the files themselves, and no debug information in separate files.
#include <backtrace.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>

#include "shim/symbolize/symbolize_abi.h"

namespace {

using Sink = void (*)(void*, const CuvmmSymbol*);

struct Address {
  CuvmmSymbol symbol{};
  Sink sink = nullptr;
  void* context = nullptr;
  bool shown = false;
};

void ignore_error(void*, const char*, int) {}

// A function's name as its author wrote it; the caller frees `owned`.
const char* demangled(const char* name, char*& owned) {
  int status = 0;
  owned = name && name[0] == '_' && name[1] == 'Z'
              ? abi::__cxa_demangle(name, nullptr, nullptr, &status)
              : nullptr;
  return owned ? owned : name;
}

// Called by the debug information's reader: once for each function that the compiler inlined there,
// innermost first.
int show_line(void* context, std::uintptr_t, const char* file, int line, const char* function) {
  auto& address = *static_cast<Address*>(context);
  if (!function && !file) return 0;
  CuvmmSymbol symbol = address.symbol;
  char* owned = nullptr;
  if (function) symbol.function = demangled(function, owned);
  symbol.file = file;
  symbol.line = file ? line : 0;
  address.sink(address.context, &symbol);
  address.shown = true;
  std::free(owned);
  return 0;
}

void keep_name(void* context, std::uintptr_t, const char* name, std::uintptr_t, std::uintptr_t) {
  static_cast<Address*>(context)->symbol.function = name;
}

// The number of loads and unloads of files: libbacktrace's data is valid as long as neither number
// changes.
int count_changes(dl_phdr_info* info, std::size_t, void* context) {
  *static_cast<unsigned long long*>(context) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

backtrace_state* state_now() {
  static backtrace_state* state = nullptr;
  static unsigned long long read_at = 0;
  unsigned long long now = 0;
  ::dl_iterate_phdr(count_changes, &now);
  // The state cannot be freed; but programs rarely load files after the first finding.
  if (!state || read_at != now) state = ::backtrace_create_state(nullptr, 0, ignore_error, nullptr);
  read_at = now;
  return state;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuvmmSymbolize(const uintptr_t* addresses,
                                                                     size_t count, Sink sink,
                                                                     void* context) {
  backtrace_state* const state = state_now();
  if (!state) return -1;
  for (std::size_t i = 0; i < count; ++i) {
    Address address{{}, sink, context, false};
    // The instruction before the return address is the call itself.
    const std::uintptr_t call = addresses[i] == 0 ? 0 : addresses[i] - 1;
    Dl_info module{};
    if (::dladdr(reinterpret_cast<const void*>(call), &module)) {
      address.symbol.module = module.dli_fname;
      address.symbol.offset = addresses[i] - reinterpret_cast<std::uintptr_t>(module.dli_fbase);
    }
    ::backtrace_syminfo(state, call, keep_name, ignore_error, &address);
    if (!address.symbol.function) address.symbol.function = module.dli_sname;
    char* owned = nullptr;
    address.symbol.function = demangled(address.symbol.function, owned);
    ::backtrace_pcinfo(state, call, show_line, ignore_error, &address);
    if (!address.shown) sink(context, &address.symbol);
    std::free(owned);
  }
  return 0;
}

// libbacktrace describes only the process that it runs in.
extern "C" __attribute__((visibility("default"))) int cuvmmSymbolizeMaps(const char*, size_t,
                                                                         const uintptr_t*, size_t,
                                                                         Sink, void*) {
  return -1;
}
