// SPDX-License-Identifier: Apache-2.0
// libcuvmm-symbolize.so: translates addresses of this process to functions and lines, by elfutils.

#include "shim/symbolize/symbolize_abi.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

bool is_set(const char* variable) {
  const char* const value = secure_getenv(variable);
  return value && *value != '\0';
}

// elfutils asks a debuginfod server as well, if the environment names one. Distributions set such a
// server for every user, and a program under a checker should not wait for it: so a second variable
// is needed.
bool look_everywhere() {
  if (getauxval(AT_SECURE) != 0) return false;  // the user's variables are not the program's own
  return !is_set("DEBUGINFOD_URLS") || is_set("CUVMM_DEBUGINFOD");
}

// Debug information comes from the files, from separate files beside them (.gnu_debuglink) and from
// /usr/lib/debug by build id.
Dwfl_Callbacks callbacks() {
  static char* no_path = nullptr;
  Dwfl_Callbacks result{};
  result.find_elf = dwfl_linux_proc_find_elf;
  result.find_debuginfo =
      look_everywhere() ? dwfl_standard_find_debuginfo : dwfl_build_id_find_debuginfo;
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

const char* name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  if (const char* linkage =
          dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))) {
    return linkage;
  }
  return dwarf_diename(die);
}

Dwarf_Word number_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  return dwarf_formudata(dwarf_attr(die, name, &attribute), &number) == 0 ? number : 0;
}

// The unit of the code at `call`. Clang writes no table of the addresses of units (.debug_aranges):
// then each unit is tried. If several compilers worked, the table has only some of the units, and
// leads to a neighbour for the others.
Dwarf_Die* unit_of(Dwfl_Module* module, Dwarf_Addr call, Dwarf_Addr& bias) {
  Dwarf_Die* unit = dwfl_module_addrdie(module, call, &bias);
  if (unit && dwarf_haspc(unit, call - bias) > 0) return unit;
  unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, &bias))) {
    if (dwarf_haspc(unit, call - bias) > 0) return unit;
  }
  return nullptr;
}

// Reports the functions that the compiler inlined at `call`, innermost first, one frame each;
// `symbol` is left as the function around them, at the line of the outermost inlined call.
void describe_inlined(Dwarf_Die* unit, Dwarf_Addr call, CuvmmSymbol& symbol,
                      void (*sink)(void*, const CuvmmSymbol*), void* context) {
  // From an inlined function on, these are the scopes around its definition. The parents of the
  // innermost entry tell where the function was inlined.
  Dwarf_Die* innermost = nullptr;
  if (dwarf_getscopes(unit, call, &innermost) <= 0) return;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&innermost[0], &scopes);
  std::free(innermost);
  Dwarf_Files* files = nullptr;
  if (count > 0) dwarf_getsrcfiles(unit, &files, nullptr);
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
    CuvmmSymbol inlined = symbol;
    const Demangled function(name_of(&scopes[i]));
    inlined.function = function.c_str();
    sink(context, &inlined);
    const char* file =
        files ? dwarf_filesrc(files, number_of(&scopes[i], DW_AT_call_file), nullptr, nullptr)
              : nullptr;
    if (file) symbol.file = file;
    symbol.line = static_cast<int>(number_of(&scopes[i], DW_AT_call_line));
  }
  std::free(scopes);
}

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
  Dwarf_Addr row = 0, bias = 0;
  Dwarf_Die* const unit = unit_of(module, call, bias);
  if (Dwarf_Line* line = unit ? dwarf_getsrc_die(unit, call - bias) : nullptr) {
    symbol.file = dwarf_linesrc(line, nullptr, nullptr);
    dwarf_lineno(line, &symbol.line);
    dwarf_lineaddr(line, &row);
    row += bias;
  }
  // Code without line tables (_start) would get the last row of the code before it.
  if (symbol.function && row < call - within) symbol.file = nullptr;
  if (!symbol.file) symbol.line = 0;
  if (symbol.file) describe_inlined(unit, call - bias, symbol, sink, context);
  sink(context, &symbol);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuvmmSymbolizeMaps(
    const char* maps, size_t bytes, const uintptr_t* addresses, size_t count,
    void (*sink)(void*, const CuvmmSymbol*), void* context) {
  static const Dwfl_Callbacks kCallbacks = callbacks();
  FILE* const file = fmemopen(const_cast<char*>(maps), bytes, "r");
  if (!file) return -1;
  Dwfl* dwfl = dwfl_begin(&kCallbacks);
  if (!dwfl) {
    std::fclose(file);
    return -1;
  }
  dwfl_report_begin(dwfl);
  const bool reported = dwfl_linux_proc_maps_report(dwfl, file) == 0;
  dwfl_report_end(dwfl, nullptr, nullptr);
  std::fclose(file);
  if (reported) {
    for (size_t i = 0; i < count; ++i) describe(dwfl, addresses[i], sink, context);
  }
  dwfl_end(dwfl);
  return reported ? 0 : -1;
}

extern "C" __attribute__((visibility("default"))) int cuvmmSymbolize(
    const uintptr_t* addresses, size_t count, void (*sink)(void*, const CuvmmSymbol*),
    void* context) {
  // Made anew each time, because modules come and go, and reports are rare.
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
