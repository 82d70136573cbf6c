// What still exists at exit and is nobody's fault: mapped, referenced memory and its address space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/check.h"
#include "spec/model.h"

namespace cuvmm::shim {

struct Alive {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reservations = 0;
  std::vector<ObjectRef> objects;
};

/// The threads of this process but the calling one, in order, without those that are on their way
/// out; empty where the kernel does not tell. Asked with the session's lock, it names the maker of
/// whatever is in the model.
std::vector<std::uint32_t> other_threads();

/// Counts what no leak rule names.
Alive count_alive(const Model& model);

/// The objects with their makers' stacks, for CUVMM_LEAK_CHECK=full.
std::string alive_text(const Alive& alive);

}  // namespace cuvmm::shim
