// SPDX-License-Identifier: Apache-2.0
// What calls are told that take memory away from work which was queued, and launches that are given
// memory which is not there. Internal to rulebook/, but for check_launch().
#pragma once

#include <span>

#include "rulebook/check/check_support.h"
#include "rulebook/order/uses.h"

namespace cuvmm {

/// An argument of a launch that may be an address.
struct LaunchArgument {
  Address value = 0;
  int index = -1;          ///< of the parameter; -1 unknown
  std::uint32_t node = 0;  ///< of a graph: which of its nodes is given it
  bool touched = false;    ///< a copy or fill begins there: these bytes are used for sure
};

/// What lies before an address, or did so until it was taken away.
MemoryBefore memory_before(const Model& model, Address end);

/// AskedMemory::end_since of memory that ends there.
std::uint64_t end_since(const Model& model, Address end);

/// Memory of a pool that work uses although nothing orders the work behind the allocation.
struct EarlyUse {
  std::string use;  ///< "dstDevice is 0x302000000"
  Address address = 0;
  std::uint64_t allocated_on = 0;  ///< handle of the stream that allocates it
  std::uint64_t used_on = 0;       ///< handle of the stream of the work
  bool of_graph = false;           ///< a launch of a graph allocates it, and not a call
};
/// Silent about memory of a pool that the model does not know.
Violations check_early_use(const Model& model, const EarlyUse& early);

/// What a launch that runs on `device` (Facts::kUnknownDevice) is given in vain, or too early. Each
/// rule once. Silent about whatever the model does not know, and about an address outside of every
/// reservation unless `vacant`: the driver was asked, and no memory is there.
Violations check_launch(const Model& model, const LaunchArgument* arguments, std::size_t count,
                        int device, bool vacant);

/// The same of one of the arguments of a launch.
struct ArgumentVerdict {
  Violations found;
  /// Nothing is there, but a kernel that is given this may well use other memory: it is silence of
  /// this launch alone.
  bool doubtful = false;
};
ArgumentVerdict check_argument(const Model& model, std::span<const LaunchArgument> all,
                               const LaunchArgument& one, int device, bool vacant);

namespace detail {

/// Adds what Facts::Order found: `in_flight` for what is certain, `ordered` for the rest. `taken`
/// is what happens to the memory: "[0x200000, 0x400000) is unmapped".
[[gnu::cold]] void add_work(Collector& out, const Facts::Order& order, Rule in_flight, Rule ordered,
                            const std::string& taken);
/// Whether memory that is known, other than mappings, is there now.
bool memory_at(const Model& model, Address address);
/// "stream 0x55", "the legacy default stream".
std::string stream_text(std::uint64_t stream);
/// "the kernel f on stream 0x55", "a copy on the legacy default stream".
std::string work_text(const Work& work);

}  // namespace detail
}  // namespace cuvmm
