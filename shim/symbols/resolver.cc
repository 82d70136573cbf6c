// SPDX-License-Identifier: Apache-2.0
#include "shim/symbols/resolver.h"

#include <optional>
#include <string_view>
#include <utility>

#include "api/multicast.h"
#include "shim/driver/memory_names.h"

namespace cuvmm::shim {

namespace {

// Whether the query names a function that cuvmm intercepts under at least one ABI.
bool is_intercepted(std::string_view query) {
  for (const SymbolInfo& info : symbols()) {
    if (query == info.query && intercepted(info.entry)) return true;
  }
  return false;
}

// The symbol of this query that the driver exports at exactly this address.
std::optional<Symbol> symbol_at(ResolverHost& host, std::string_view query, const void* address) {
  for (const SymbolInfo& info : symbols()) {
    if (query == info.query && host.driver_export(info.name) == address) return info.symbol;
  }
  return std::nullopt;
}

// The symbol whose ABI `answer` has. The table has the answer for the versions that it was checked
// against, but an older driver returns an older ABI than the table's newest: if the address is an
// export, the export's name decides; a symbol that this driver does not export cannot be the
// answer.
std::optional<Symbol> abi_of(ResolverHost& host, std::string_view query, int version,
                             std::uint64_t flags, const void* answer) {
  if (const auto exported = symbol_at(host, query, answer)) return exported;
  const auto known = resolve(query, version, flags);
  if (!known) return std::nullopt;
  const char* name = symbols()[static_cast<std::size_t>(*known)].name;
  return host.driver_export(name) ? known : std::nullopt;
}

}  // namespace

void* substitute(ResolverHost& host, const char* query, int version, std::uint64_t flags,
                 void* answer) {
  if (!query || !answer) return answer;
  const std::string_view name = query;
  if (name == "cuGetProcAddress") {
    void* replacement = host.get_proc_address(version);
    return replacement ? replacement : answer;
  }
  if (can_multicast(name)) {
    if (void* refused = host.refused_multicast()) return refused;
  }
  if (void* replacement = host.guarded(query, answer)) return replacement;
  if (!is_intercepted(name)) {
    if (auto why = unchecked_query(name)) host.unchecked(std::move(*why));
    void* const counting = host.counting(query, answer);
    return counting ? counting : answer;
  }
  if (const auto symbol = abi_of(host, name, version, flags, answer)) {
    if (void* replacement = host.wrapper(*symbol)) return replacement;
  }
  host.unchecked(std::string(name) + " asked for with CUDA version " + std::to_string(version) +
                 ": an ABI that is not checked");
  void* const counting = host.counting(query, answer);
  return counting ? counting : answer;
}

}  // namespace cuvmm::shim
