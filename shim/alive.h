// What still exists at exit and is nobody's fault: mapped, referenced memory and its address space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/model.h"

namespace cuvmm::shim {

struct Alive {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reservations = 0;
  std::vector<ObjectRef> objects;
};

/// Counts what no leak rule names.
Alive count_alive(const Model& model);

/// The objects with their makers' stacks, for CUVMM_LEAK_CHECK=full.
std::string alive_text(const Alive& alive);

}  // namespace cuvmm::shim
