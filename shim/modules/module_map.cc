// SPDX-License-Identifier: Apache-2.0
#include "shim/modules/module_map.h"

#include <algorithm>

#include "shim/modules/proc_maps.h"

namespace cuvmm::shim {

ModuleMap ModuleMap::of_this_process() { return ModuleMap(read_proc_maps()); }

ModuleMap::ModuleMap(std::string maps) : text_(std::move(maps)) {
  std::string_view rest = text_;
  std::uint64_t base = 0;
  std::string_view last;
  while (const auto mapping = next_file_mapping(rest)) {
    // Mappings of one object follow each other; the first begins at its load address.
    if (mapping->path != last) base = mapping->low;
    last = mapping->path;
    mappings_.push_back({mapping->low, mapping->high, base, mapping->path});
  }
}

ModuleMap::Place ModuleMap::find(std::uint64_t address) const {
  auto mapping = std::ranges::upper_bound(mappings_, address, {}, &Mapping::low);
  if (mapping == mappings_.begin()) return {};
  --mapping;
  if (address >= mapping->high) return {};
  return {mapping->path, address - mapping->base};
}

}  // namespace cuvmm::shim
