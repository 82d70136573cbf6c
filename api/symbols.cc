// SPDX-License-Identifier: Apache-2.0
#include "api/symbols.h"

namespace cuvmm {

namespace {
// `Other` in entry_points.def: a known ABI that is not an entry point's.
constexpr EntryPoint entry_of_kOther = EntryPoint::kCount;
#define CUVMM_ENTRY(Name, area, ...) constexpr EntryPoint entry_of_k##Name = EntryPoint::k##Name;
#define CUVMM_BASE(Name, ...) constexpr EntryPoint entry_of_k##Name = EntryPoint::k##Name;
#include "api/entry_points.def"

constexpr SymbolInfo kSymbols[] = {
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) \
  {Symbol::k_##symbol, #symbol, #query, version, flags, entry_of_k##Name},
#include "api/entry_points.def"
};
}  // namespace

std::span<const SymbolInfo> symbols() { return kSymbols; }

std::optional<Symbol> resolve(std::string_view query, int version, std::uint64_t flags) {
  if (version > kNewestKnownVersion) return std::nullopt;
  constexpr unsigned kPerThread = 2;
  const SymbolInfo* best = nullptr;
  // A driver hands out the newest ABI that is not newer than asked; the per-thread variant wins
  // where it is asked for and exists.
  for (const SymbolInfo& info : kSymbols) {
    if (info.version > version || query != info.query) continue;
    if (info.flags == kPerThread && !(flags & kPerThread)) continue;
    const bool better = !best || info.flags > best->flags ||
                        (info.flags == best->flags && info.version > best->version);
    if (better) best = &info;
  }
  return best ? std::optional(best->symbol) : std::nullopt;
}

}  // namespace cuvmm
