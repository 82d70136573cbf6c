// SPDX-License-Identifier: Apache-2.0
// What the checks share: collecting violations, spelling values, and the questions that several
// entry points ask of the model. Internal to rulebook/.
#pragma once

#include <string>
#include <utility>

#include "api/words.h"
#include "rulebook/check/check.h"

namespace cuvmm::detail {

/// Collects the violations of one call, in order.
class Collector {
 public:
  /// Adds a violation; returns it so that objects can be attached.
  /// Cold: so the compiler moves all that leads here, which is most of each check, out of the way
  /// of the calls that break nothing.
  [[gnu::cold]] Violation& add(Rule rule, std::string message, bool certain = true);
  bool empty() const { return violations_.empty(); }
  std::size_t size() const { return violations_.size(); }
  Violations take() { return std::move(violations_); }

 private:
  Violations violations_;
};

/// "[0x200000, 0x400000) (2 MiB)".
[[gnu::cold]] std::string range(std::uint64_t base, std::uint64_t size);
/// "1 time", "3 times".
[[gnu::cold]] std::string times(std::uint64_t count);
/// "device 0", "the host", "NUMA node 1", "location type 99, id 0".
[[gnu::cold]] std::string location(const CUmemLocation& location);
/// "handle 0x1234".
[[gnu::cold]] std::string handle_text(Handle handle);

[[gnu::cold]] ObjectRef ref(const Reservation& r);
[[gnu::cold]] ObjectRef ref(const Allocation& a);
/// The same, by the call that retained it last.
[[gnu::cold]] ObjectRef retained(const Allocation& a);
[[gnu::cold]] ObjectRef ref(const Mapping& m);
[[gnu::cold]] ObjectRef ref(const Export& e);
[[gnu::cold]] ObjectRef ref(const ExternalMemory& m);
[[gnu::cold]] ObjectRef ref(const ExternalBuffer& b);
[[gnu::cold]] ObjectRef ref(const Pool& p);
[[gnu::cold]] ObjectRef ref(const PoolMemory& m);
[[gnu::cold]] ObjectRef ref(const IpcExport& e);
[[gnu::cold]] ObjectRef ref(const IpcOpen& o);
[[gnu::cold]] ObjectRef ref(const ExternalSemaphore& s);
[[gnu::cold]] ObjectRef ref(const ArrayObject& a);
[[gnu::cold]] ObjectRef ref(const PlainMemory& m);

/// True (and the violation added) when cuInit has not succeeded: nothing else is worth saying.
inline bool not_initialized(Collector& out, const Facts& facts) {
  if (facts.initialized != Facts::Answer::kNo) [[likely]]
    return false;
  out.add(Rule::kDriverInitialized, "cuInit has not succeeded in this process");
  return true;
}

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
/// check_handle() of one that is unknown, 0 or without references.
[[gnu::cold]] const Allocation* check_doubtful_handle(Collector& out, const Model& model,
                                                      Handle handle, const HandleRules& rules,
                                                      const Facts& facts);
/// Checks a handle parameter; null (with a violation unless the handle is merely unknown) when
/// nothing is known of its allocation.
inline const Allocation* check_handle(Collector& out, const Model& model, Handle handle,
                                      const HandleRules& rules, const Facts& facts) {
  const Allocation* a = model.allocation(handle);
  if (a && a->references != 0 && handle != 0) [[likely]]
    return a;
  return check_doubtful_handle(out, model, handle, rules, facts);
}

/// How the bytes of a range are mapped.
struct Coverage {
  bool any = false;    ///< some byte is mapped
  bool first = false;  ///< the first byte is mapped
  bool last = false;   ///< the last byte is mapped
  Address hole = 0;    ///< first unmapped byte, if there is one
  bool has_hole = false;
  const Mapping* cut = nullptr;  ///< a mapping that the range holds only in part
};
[[gnu::hot]] Coverage coverage_by_steps(const Model& model, Address base, Size size);
inline Coverage coverage(const Model& model, Address base, Size size) {
  const Mapping* m = model.mapping_at(base);
  // Nearly always it is one mapping as it was made.
  if (m && m->base == base && m->size == size) [[likely]] {
    Coverage whole;
    whole.any = whole.first = whole.last = true;
    return whole;
  }
  return coverage_by_steps(model, base, size);
}

/// Attaches what is known of an address: the live or the ended mapping and reservation that hold
/// it.
[[gnu::cold]] void attach_history(Violation& violation, const Model& model, Address address);

/// What a call that frees an address may be wrong about, beside what is in a reservation: `host`,
/// whether it is cuMemFreeHost. Sure only where everything is seen: memory that others made may lie
/// there.
void check_freed(Collector& out, const Model& model, Address address, bool host);
/// A stream that was destroyed. Sure only where everything is seen: drivers give handles out again.
void check_stream(Collector& out, const Model& model, CUstream stream);

/// cuMemFree of memory that cuIpcOpenMemHandle gave.
void check_free_of_opened(Collector& out, const Model& model, Address address);
/// What check_exit() says of opened memory and of pools.
void check_ipc_exit(Collector& out, const Model& model);
void check_pool_exit(Collector& out, const Model& model);

/// Whether an address that no live reservation holds is certainly wrong: everything is seen, or the
/// range was ours and is gone.
[[gnu::cold]] bool certainly_not_reserved(const Model& model, Address address);

}  // namespace cuvmm::detail
