// What the checks share: collecting violations, spelling values, and the questions that several
// entry points ask of the model. Internal to spec/.
#pragma once

#include <string>
#include <utility>

#include "spec/check.h"

namespace cuvmm::detail {

/// Collects the violations of one call, in order.
class Collector {
 public:
  /// Adds a violation; returns it so that objects can be attached.
  Violation& add(Rule rule, std::string message, bool certain = true) {
    violations_.push_back({rule, certain, std::move(message), {}});
    return violations_.back();
  }
  bool empty() const { return violations_.empty(); }
  Violations take() { return std::move(violations_); }

 private:
  Violations violations_;
};

/// "0x7f0000200000".
std::string hex(std::uint64_t value);
/// "4 MiB", "2 MiB + 4096 B", "17 B": what a person would say of a size.
std::string bytes(std::uint64_t size);
/// "[0x200000, 0x400000) (2 MiB)".
std::string range(std::uint64_t base, std::uint64_t size);
/// "device 0", "the host", "NUMA node 1", "location type 99, id 0".
std::string location(const CUmemLocation& location);
/// "handle 0x1234".
std::string handle_text(Handle handle);

ObjectRef ref(const Reservation& r);
ObjectRef ref(const Allocation& a);
ObjectRef ref(const Mapping& m);
ObjectRef ref(const Export& e);
ObjectRef ref(const ExternalMemory& m);
ObjectRef ref(const ExternalBuffer& b);
ObjectRef ref(const ExternalSemaphore& s);

/// True (and the violation added) when cuInit has not succeeded: nothing else is worth saying.
bool not_initialized(Collector& out, const Facts& facts);

/// Adds `owned` when an import of external memory or of a semaphore took the descriptor over. True
/// when that is certain: nothing has got the number since. `open` is whether the descriptor is an
/// open one of the right kind.
bool check_given(Collector& out, const Model& model, int fd, Facts::Answer open, Rule owned);

/// External objects that never ended.
void check_external_exit(Collector& out, const Model& model);

/// Rules for the ways in which a handle can be wrong.
struct HandleRules {
  Rule nonzero, valid, alive, referenced;
};
/// Checks a handle parameter; null (with a violation unless the handle is merely unknown) when
/// nothing is known of its allocation.
const Allocation* check_handle(Collector& out, const Model& model, Handle handle,
                               const HandleRules& rules, const Facts& facts);

/// How the bytes of a range are mapped.
struct Coverage {
  bool any = false;    ///< some byte is mapped
  bool first = false;  ///< the first byte is mapped
  bool last = false;   ///< the last byte is mapped
  Address hole = 0;    ///< first unmapped byte, if there is one
  bool has_hole = false;
  const Mapping* cut = nullptr;  ///< a mapping that the range holds only in part
};
Coverage coverage(const Model& model, Address base, Size size);

/// Attaches what is known of an address: the live or the ended mapping and reservation that hold
/// it.
void attach_history(Violation& violation, const Model& model, Address address);

/// cuMemFree of memory that cuIpcOpenMemHandle gave.
void check_free_of_opened(Collector& out, const Model& model, Address address);
/// What check_exit() says of opened memory and of pools.
void check_ipc_exit(Collector& out, const Model& model);
void check_pool_exit(Collector& out, const Model& model);

/// Whether an address that no live reservation holds is certainly wrong: everything is seen, or the
/// range was ours and is gone.
bool certainly_not_reserved(const Model& model, Address address);

}  // namespace cuvmm::detail
