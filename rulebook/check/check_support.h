// SPDX-License-Identifier: Apache-2.0
// Functions that several checks use: they collect violations, spell values, and ask the model.
// Internal to rulebook/.
#pragma once

#include <string>
#include <utility>

#include "api/words.h"
#include "rulebook/check/check.h"

namespace cuvmm::detail {

/// Collects the violations of one call, in order.
class Collector {
 public:
  /// Adds a violation; returns it so that objects can be attached. Cold, so that the compiler moves
  /// the code that leads here, which is most of each check, away from the code of calls that break
  /// nothing.
  [[gnu::cold]] Violation& add(Rule rule, std::string message, bool certain = true);
  bool empty() const { return violations_.empty(); }
  std::size_t size() const { return violations_.size(); }
  Violations take() { return std::move(violations_); }

 private:
  Violations violations_;
};

/// "[0x200000, 0x400000) (2 MiB)".
[[gnu::cold]] std::string range(std::uint64_t base, std::uint64_t size);
/// The repair for an object that ended with its context.
inline constexpr const char* kFixOfContextEnd =
    "End the context (cuCtxDestroy, cuDevicePrimaryCtxReset, cuDevicePrimaryCtxRelease, "
    "cudaDeviceReset) behind the last use of its objects, or make the objects again in a context "
    "that lives. The end of a context ends its streams, events, modules and memory.";
/// The repair for a call that frees an address in a reservation.
[[gnu::cold]] const char* fix_of_reservation(const Model& model, Address address);
/// "1 time", "3 times".
[[gnu::cold]] std::string times(std::uint64_t count);
/// "device 0", "the host", "NUMA node 1", "location type 99, id 0".
[[gnu::cold]] std::string location(const CUmemLocation& location);
/// "handle 0x1234".
[[gnu::cold]] std::string handle_text(Handle handle);

[[gnu::cold]] ObjectRef ref(const Reservation& r);
[[gnu::cold]] ObjectRef ref(const Allocation& a);
/// The same allocation, named by the call that retained it last.
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

/// True, with the violation added, if cuInit has not succeeded. Then the other checks are
/// pointless.
inline bool not_initialized(Collector& out, const Facts& facts) {
  if (facts.initialized != Facts::Answer::kNo) [[likely]]
    return false;
  out.add(Rule::kDriverInitialized, "cuInit has not succeeded in this process");
  return true;
}

/// Adds `owned` if the driver owns the descriptor, because an import of external memory or of a
/// semaphore took it over. True if that is certain, because no other file has received the number
/// since. `open` is whether the descriptor is an open one of the right kind.
bool check_given(Collector& out, const Model& model, int fd, Facts::Answer open, Rule owned);

/// Adds the external objects that never ended.
void check_external_exit(Collector& out, const Model& model);

/// The rules that a handle can break.
struct HandleRules {
  Rule nonzero, valid, alive, referenced;
};
/// check_handle() for a handle that is unknown, 0 or without references.
[[gnu::cold]] const Allocation* check_doubtful_handle(Collector& out, const Model& model,
                                                      Handle handle, const HandleRules& rules,
                                                      const Facts& facts);
/// Checks a handle parameter. Null if nothing is known about its allocation, with a violation
/// unless the handle is merely unknown.
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
  const Mapping* cut = nullptr;  ///< a mapping that the range covers only in part
};
[[gnu::hot]] Coverage coverage_by_steps(const Model& model, Address base, Size size);
inline Coverage coverage(const Model& model, Address base, Size size) {
  const Mapping* m = model.mapping_at(base);
  // Nearly always the range is one whole mapping.
  if (m && m->base == base && m->size == size) [[likely]] {
    Coverage whole;
    whole.any = whole.first = whole.last = true;
    return whole;
  }
  return coverage_by_steps(model, base, size);
}

/// Attaches the objects that hold the address: the live or the ended mapping and reservation.
[[gnu::cold]] void attach_history(Violation& violation, const Model& model, Address address);

/// Checks a call that frees an address, apart from addresses in a reservation. `host`: the call is
/// cuMemFreeHost. Certain only where cuvmm sees everything, because memory that others made may lie
/// there.
void check_freed(Collector& out, const Model& model, Address address, bool host);
/// Checks that the stream was not destroyed. Certain only where cuvmm sees everything, because
/// drivers reuse handles.
void check_stream(Collector& out, const Model& model, CUstream stream);

/// Checks for a cuMemFree of memory that cuIpcOpenMemHandle opened.
void check_free_of_opened(Collector& out, const Model& model, Address address);
/// The part of check_exit() about opened memory and pools.
void check_ipc_exit(Collector& out, const Model& model);
void check_pool_exit(Collector& out, const Model& model);

/// Whether an address that no live reservation holds is certainly wrong: cuvmm sees everything, or
/// this process freed a reservation there.
[[gnu::cold]] bool certainly_not_reserved(const Model& model, Address address);

}  // namespace cuvmm::detail
