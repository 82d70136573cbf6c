// SPDX-License-Identifier: Apache-2.0
#include "api/symbols/symbols.h"

#include <cudaTypedefs.h>

#include <type_traits>

#include "api/symbols/symbol_table.h"

namespace cuvmm {

namespace {
template <class Function>
constexpr bool has_type(EntryPoint entry) {
  switch (entry) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return std::is_same_v<Function, calls::Name::Function>;
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
    default:
      return false;
  }
}

constexpr bool is_intercepted(EntryPoint entry) {
  switch (entry) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return true;
#include "api/entry_points.def"
    default:
      return false;
  }
}

// Whether the table has the triple, with the ABI of this type. `Other` stands for an ABI that
// differs from the intercepted function of that name.
template <class Function>
constexpr bool fits(std::string_view query, int version, unsigned flags) {
  for (const SymbolInfo& info : kSymbolTable) {
    if (info.version != version || info.flags != flags || query != info.query) continue;
    if (info.entry != EntryPoint::kCount) return has_type<Function>(info.entry);
    for (const SymbolInfo& other : kSymbolTable) {
      if (query == other.query && is_intercepted(other.entry) && has_type<Function>(other.entry)) {
        return false;
      }
    }
    return true;
  }
  return version > kNewestKnownVersion;
}

#define CUVMM_TYPEDEF(query, version, flags, type)  \
  static_assert(fits<type>(#query, version, flags), \
                #type " is not what api/entry_points.def says of its triple");
#include "api/typedefs.inc"
#undef CUVMM_TYPEDEF
}  // namespace

std::span<const SymbolInfo> symbols() { return kSymbolTable; }

std::optional<Symbol> resolve(std::string_view query, int version, std::uint64_t flags) {
  if (version > kNewestKnownVersion) return std::nullopt;
  constexpr unsigned kPerThread = 2;
  const SymbolInfo* best = nullptr;
  // A driver hands out the newest ABI that is not newer than the version asked for. If the caller
  // asks for the per-thread variant and it exists, the driver hands that out.
  for (const SymbolInfo& info : kSymbolTable) {
    if (info.version > version || query != info.query) continue;
    if (info.flags == kPerThread && !(flags & kPerThread)) continue;
    const bool better = !best || info.flags > best->flags ||
                        (info.flags == best->flags && info.version > best->version);
    if (better) best = &info;
  }
  return best ? std::optional(best->symbol) : std::nullopt;
}

}  // namespace cuvmm
