// SPDX-License-Identifier: Apache-2.0
// The symbols of api/entry_points.def as a constant. Other code asks symbols().
#pragma once

#include "api/symbols/symbol_info.h"

namespace cuvmm {

namespace detail {
// `Other` in entry_points.def: a known ABI that belongs to no entry point.
inline constexpr EntryPoint entry_of_kOther = EntryPoint::kCount;
#define CUVMM_ENTRY(Name, area, ...) \
  inline constexpr EntryPoint entry_of_k##Name = EntryPoint::k##Name;
#define CUVMM_BASE(Name, ...) inline constexpr EntryPoint entry_of_k##Name = EntryPoint::k##Name;
#include "api/entry_points.def"
}  // namespace detail

inline constexpr SymbolInfo kSymbolTable[] = {
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) \
  {Symbol::k_##symbol, #symbol, #query, version, flags, detail::entry_of_k##Name},
#include "api/entry_points.def"
};

}  // namespace cuvmm
