// libcuvmm-symbolize.so: addresses of this process to functions and lines, by elfutils.

#include "shim/symbolize/symbolize_abi.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

namespace {

// Debug information is taken from the files and from /usr/lib/debug by build id. Not from a
// debuginfod server: a preloaded library does not reach for the network.
Dwfl_Callbacks callbacks() {
  static char* no_path = nullptr;
  Dwfl_Callbacks result{};
  result.find_elf = dwfl_linux_proc_find_elf;
  result.find_debuginfo = dwfl_build_id_find_debuginfo;
  result.debuginfo_path = &no_path;
  return result;
}

/// A function's name as its author wrote it; owns the demangler's string.
class Demangled {
 public:
  explicit Demangled(const char* name) : name_(name) {
    int status = 0;
    if (name && name[0] == '_' && name[1] == 'Z') {
      owned_ = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    }
  }
  Demangled(const Demangled&) = delete;
  Demangled& operator=(const Demangled&) = delete;
  ~Demangled() { std::free(owned_); }
  const char* c_str() const { return owned_ ? owned_ : name_; }

 private:
  const char* name_;
  char* owned_ = nullptr;
};

void describe(Dwfl* dwfl, uintptr_t address, void (*sink)(void*, const CuvmmSymbol*),
              void* context) {
  CuvmmSymbol symbol{};
  // The instruction before the return address is the call itself.
  const Dwarf_Addr call = address == 0 ? 0 : address - 1;
  Dwfl_Module* module = dwfl_addrmodule(dwfl, call);
  if (!module) {
    sink(context, &symbol);
    return;
  }
  Dwarf_Addr start = 0;
  const char* main_file = nullptr;
  const char* name =
      dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, &main_file, nullptr);
  symbol.module = main_file ? main_file : name;
  symbol.offset = address - start;
  GElf_Off within = 0;
  GElf_Sym elf_symbol;
  const Demangled function(
      dwfl_module_addrinfo(module, call, &within, &elf_symbol, nullptr, nullptr, nullptr));
  symbol.function = function.c_str();
  if (Dwfl_Line* line = dwfl_module_getsrc(module, call)) {
    symbol.file = dwfl_lineinfo(line, nullptr, &symbol.line, nullptr, nullptr, nullptr);
  }
  sink(context, &symbol);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuvmmSymbolize(
    const uintptr_t* addresses, size_t count, void (*sink)(void*, const CuvmmSymbol*),
    void* context) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // Made anew each time: modules come and go, and reports are rare.
  static const Dwfl_Callbacks kCallbacks = callbacks();
  Dwfl* dwfl = dwfl_begin(&kCallbacks);
  if (!dwfl) return -1;
  dwfl_report_begin(dwfl);
  const bool reported = dwfl_linux_proc_report(dwfl, getpid()) == 0;
  dwfl_report_end(dwfl, nullptr, nullptr);
  if (reported) {
    for (size_t i = 0; i < count; ++i) describe(dwfl, addresses[i], sink, context);
  }
  dwfl_end(dwfl);
  return reported ? 0 : -1;
}
