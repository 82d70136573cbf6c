// SPDX-License-Identifier: Apache-2.0
// The gate of multicast: the functions that can make or use a multicast team. On a real driver such
// a call can put GPUs that others share out of service, so none may reach one unless the user asked
// for it. All code that may have a real driver below it asks here, by call type or by name.
#pragma once

#include <string_view>

#include "api/calls.h"

namespace cuvmm {

namespace detail {
// The leading empty texts keep the array from having no elements.
inline constexpr std::string_view kMulticastMarks[] = {
    {},
#define CUVMM_MULTICAST(Name) "cu" #Name,
#include "api/entry_points.def"
};
inline constexpr std::string_view kMulticastFamilies[] = {
    {},
#define CUVMM_MULTICAST_FAMILY(Prefix) "cu" #Prefix,
#include "api/entry_points.def"
};

constexpr bool marked(std::string_view function) {
  if (function.empty()) return false;
  for (const std::string_view mark : kMulticastMarks) {
    if (function == mark) return true;
  }
  return false;
}
}  // namespace detail

/// The name without the suffixes of its ABIs: "cuMemcpyHtoD" of "cuMemcpyHtoD_v2_ptds".
constexpr std::string_view without_abi(std::string_view name) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end < name.size() && name.substr(0, end).ends_with("_v")) name = name.substr(0, end - 2);
  return name;
}

/// Whether the function of this name can make or use a multicast team. The name is an exported
/// symbol, a name for cuGetProcAddress, or a function of the program text. True for all ABIs of a
/// marked function, and for any other function whose name begins with a multicast family or
/// contains "Multicast".
constexpr bool can_multicast(std::string_view name) {
  const std::string_view function = without_abi(name);
  for (const std::string_view mark : detail::kMulticastMarks) {
    if (!mark.empty() && function == without_abi(mark)) return true;
  }
  for (const std::string_view family : detail::kMulticastFamilies) {
    if (!family.empty() && name.starts_with(family)) return true;
  }
  return name.find("Multicast") != name.npos;
}

namespace detail {
inline constexpr bool kCanMulticast[] = {
#define CUVMM_ENTRY(Name, area, ...) marked("cu" #Name),
#define CUVMM_BASE(Name, ...) marked("cu" #Name),
#include "api/entry_points.def"
};
#define CUVMM_ENTRY(Name, area, ...)                             \
  static_assert(marked("cu" #Name) == can_multicast("cu" #Name), \
                "cu" #Name " needs a CUVMM_MULTICAST line in api/entry_points.def");
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
}  // namespace detail

/// Whether the entry point has the mark.
constexpr bool can_multicast(EntryPoint entry) {
  return entry < EntryPoint::kCount && detail::kCanMulticast[static_cast<std::size_t>(entry)];
}

/// The same for a call struct: can_multicast<calls::MulticastCreate>.
template <class CallStruct>
inline constexpr bool can_multicast_call = can_multicast(CallStruct::kEntryPoint);

}  // namespace cuvmm
