// SPDX-License-Identifier: Apache-2.0
// Checks of calls that take memory away from queued work, and of launches that receive addresses
// where no memory is. Internal to rulebook/, except check_launch().
#pragma once

#include <optional>
#include <span>

#include "rulebook/check/check_support.h"
#include "rulebook/order/uses.h"

namespace cuvmm {

/// An argument of a launch that may be an address.
struct LaunchArgument {
  Address value = 0;
  int index = -1;          ///< of the kernel's parameter; -1 unknown
  std::uint32_t node = 0;  ///< for a graph: the node that receives the argument
  bool touched = false;    ///< a copy or fill begins there, so it certainly uses these bytes
};

/// The memory in front of the address `end`, also if that memory has ended.
MemoryBefore memory_before(const Model& model, Address end);

/// AskedMemory::end_since for memory that ends at the address `end`.
std::uint64_t end_since(const Model& model, Address end);

/// Work that uses memory of a pool although nothing orders the work behind the allocation.
struct EarlyUse {
  std::string use;  ///< "dstDevice is 0x302000000"
  Address address = 0;
  std::uint64_t allocated_on = 0;  ///< handle of the stream that allocates it
  std::uint64_t used_on = 0;       ///< handle of the stream of the work
  bool of_graph = false;           ///< the launch of a graph allocates the memory, not a call
};
/// Reports nothing about memory of a pool that the model does not know.
Violations check_early_use(const Model& model, const EarlyUse& early);

/// Finds the arguments of a launch on `device` (Facts::kUnknownDevice if unknown) that point to no
/// memory, to memory without access, or to memory that has ended; each rule once. Reports nothing
/// about memory that the model does not know. An address outside of every reservation is reported
/// only if `vacant`: the driver was asked, and answered that no memory is there.
Violations check_launch(const Model& model, const LaunchArgument* arguments, std::size_t count,
                        int device, bool vacant);

/// check_argument() gives this for one of the arguments of a launch.
struct ArgumentVerdict {
  Violations found;
  /// No memory is there, but the kernel may well use other memory that this argument leads to. So
  /// cuvmm reports nothing about this launch, and still looks at the next.
  bool doubtful = false;
};
ArgumentVerdict check_argument(const Model& model, std::span<const LaunchArgument> all,
                               const LaunchArgument& one, int device, bool vacant);

namespace detail {

/// Adds the work that Facts::Order names: rule `in_flight` where that is certain, rule `ordered`
/// for the rest. `taken` says what happens to the memory: "[0x200000, 0x400000) is unmapped".
[[gnu::cold]] void add_work(Collector& out, const Facts::Order& order, Rule in_flight, Rule ordered,
                            const std::string& taken);
/// Whether memory that is no mapping, and that the model knows, is at this address now.
bool memory_at(const Model& model, Address address);
/// The object that held the address last and has ended. A mapping is preferred to its reservation,
/// which outlives it.
std::optional<ObjectRef> last_owner(const Model& model, Address address);
/// "the mapping [...) was unmapped", "the memory [...) of a pool was freed"
std::string end_text(const ObjectRef& ended_object);
/// "stream 0x55", "the legacy default stream".
std::string stream_text(std::uint64_t stream);
/// "the kernel f on stream 0x55", "a copy on the legacy default stream".
std::string work_text(const Work& work);

}  // namespace detail
}  // namespace cuvmm
