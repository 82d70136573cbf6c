// SPDX-License-Identifier: Apache-2.0
// A call that the driver refused, and that no rule explains. A refusal is no finding: the program
// may expect it, and no known fact makes the call wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/print.h"
#include "rulebook/base/violation.h"
#include "shim/refusals/held_memory.h"
#include "shim/refusals/neighbours.h"

namespace cuvmm::shim {

/// The facts for a refusal of memory.
struct MemoryFacts {
  int device = -1;
  bool measured = false;  ///< the driver answered the next two
  std::uint64_t free = 0, total = 0;
  HeldMemory held;
  /// Bytes that the device's default pool holds although none of its memory is allocated, and those
  /// that the pools hold which the program created.
  std::uint64_t cached = 0, cached_in_created = 0;
  /// Bytes that allocation nodes of the program's graphs have allocated, and those that the device
  /// keeps for such nodes although nothing of them is allocated.
  std::uint64_t graphs = 0, graphs_idle = 0;
  /// All of these that is the program's.
  std::uint64_t known() const {
    return held.sum() + cached + cached_in_created + graphs + graphs_idle;
  }
  std::vector<Neighbour> others;  ///< other processes that hold memory of the device
};

/// The facts for a refusal of address space.
struct AddressFacts {
  std::uint64_t largest_free = 0;  ///< bytes of the largest range that is free in this process
  std::uint64_t limit = 0;         ///< RLIMIT_AS; 0 none
  std::uint64_t reserved = 0;      ///< the bytes in live reservations
  std::uint64_t reservations = 0;
};

struct Refusal {
  EntryPoint entry = EntryPoint::kCount;
  std::string unchecked;  ///< the name of a function that is not checked; else ""
  CUresult result = CUDA_SUCCESS;
  const char* runtime = nullptr;  ///< the runtime's function that made the call, or null
  std::vector<ArgumentText> arguments;
  /// The names and values of the arguments of a function that is not checked, if they are known.
  std::vector<std::pair<std::string, std::string>> given;
  std::uint64_t call_index = 0;
  StackId stack = 0;
  bool in_driver =
      false;  ///< the stack begins inside of the driver, because its log told of the call
  /// The memory that a later call must get so that this refusal is settled.
  struct Purpose {
    std::uint64_t what = 0;  ///< shim/findings/purpose.h
    std::uint64_t size = 0;  ///< at least as many bytes; 0: any
  };
  Purpose purpose;
  /// The process whose initialised driver this one inherited by fork, where that is the cause of
  /// the refusal; else 0.
  int forked_from = 0;
  /// The result is that of work which failed earlier; this call has no part in it.
  bool late = false;
  std::string driver_message;  ///< the driver's own sentence; "" if it has none
  std::optional<MemoryFacts> memory;
  std::optional<AddressFacts> addresses;
  /// A further fact, in words, and the stack of the call that it names.
  struct Aside {
    std::string text;
    StackId stack = 0;
  };
  std::vector<Aside> asides;
};

}  // namespace cuvmm::shim
