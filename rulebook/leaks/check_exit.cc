// SPDX-License-Identifier: Apache-2.0
// The objects that have not ended when the process ends.
#include <algorithm>

#include "rulebook/check/check_support.h"
#include "rulebook/endpoint/check_endpoint.h"

namespace cuvmm {
using namespace detail;

namespace {

std::string references(std::uint32_t count) {
  return count == 1 ? "1 reference" : std::to_string(count) + " references";
}

// Whether the thread that made the reported object may still be working with it.
bool on_its_way(const Violation& leak, const StillRunning& running) {
  return !leak.objects.empty() && running.works_with(leak.objects.front().made);
}

void check_allocation(Collector& out, const Model& model, const Allocation& a,
                      const StillRunning& running) {
  if (!leaks(model, a, running)) return;
  const std::string size = a.size ? size_text(a.size) : std::string("memory of unknown size");
  const std::string state = references(a.references) + " of " + handle_text(a.handle) +
                            (a.references == 1 ? " was" : " were") + " never released: " + size +
                            " is still allocated, and nothing maps it";
  // Every reference, except the first of a creation that the model saw, came from a retain. If more
  // than that is left, a retain lacks its release.
  const std::uint32_t first = a.creation_seen ? 1 : 0;
  const Rule made = a.imported                  ? Rule::kImportLeak
                    : model.multicast(a.handle) ? Rule::kMcCreateLeak
                                                : Rule::kCreateLeak;
  const Rule rule = !a.creation_seen || a.references > first ? Rule::kRetainLeak : made;
  Violation& v = out.add(rule, state);
  v.objects.push_back(ref(a));
  if (a.retained.call != 0) {
    v.message += "; the handle was retained " + times(a.retains) + ", last by call " +
                 std::to_string(a.retained.call) + ", and each retain needs a release of its own";
    // A release does not say which of the references it gives up.
    if (rule == made) {
      v.fix =
          "Call cuMemRelease once for the call that made the handle, and once for each "
          "cuMemRetainAllocationHandle: one of these releases is missing.";
    }
    // The retain comes behind the call that made the memory, if the model saw that call.
    if (a.creation_seen) v.objects.push_back(retained(a));
  }
}

void check_mapping(Collector& out, const Model& model, const Mapping& m) {
  const Reservation* r = model.reservation_at(m.base);
  if (r && r->free_refused.call == 0) return;
  Violation& v =
      out.add(Rule::kMappingLeak, "the mapping " + range(m.base, m.size) +
                                      (r ? " is in a reservation that the program tried to free"
                                         : " has outlived its reservation"));
  v.objects.push_back(ref(m));
  if (r) v.objects.push_back(ref(*r));
}

// An open descriptor is no leak while the process still has the memory, because then the descriptor
// does not keep the memory alive.
void check_export(Collector& out, const Model& model, const Export& e) {
  const Allocation* a = model.allocation(e.handle);
  // A newer allocation may have the same handle, because a driver reuses handles.
  if (a && a->made.call <= e.made.call) return;
  out.add(Rule::kExportFdLeak, "descriptor " + std::to_string(e.fd) + ", exported from " +
                                   handle_text(e.handle) +
                                   ", is still open and keeps the memory alive")
      .objects.push_back(ref(e));
}

void check_reservations(Collector& out, const Abandoned& abandoned) {
  const Reservation& first = *abandoned.reservations.front();
  const std::uint64_t count = abandoned.reservations.size();
  Size together = 0;
  for (const Reservation* r : abandoned.reservations) together += r->size;
  const std::string which = "the reservation " + range(first.base, first.size);
  Violation& v = out.add(
      Rule::kReserveLeak,
      abandoned.free_failed
          ? which + " is empty, and cuMemAddressFree of it failed (call " +
                std::to_string(first.free_refused.call) + ")"
          : "one place in the program made " + std::to_string(count) + " reservations (" +
                size_text(together) +
                " together), one after the other; each held mappings, is empty now, and was never "
                "freed");
  v.count = count;
  v.objects.push_back(ref(first));
}

}  // namespace

bool StillRunning::works_with(Origin last) const {
  if (last.thread == 0) return false;
  if (last.thread == interrupted && last.call >= since) return true;
  return std::binary_search(threads.begin(), threads.end(), last.thread);
}

// Whether references keep memory alive that nothing maps: the program no longer has any use for it.
bool leaks(const Model& model, const Allocation& a, const StillRunning& running) {
  if (a.references == 0 || a.mappings != 0 || model.tiles().shows(a.handle)) return false;
  return !running.works_with(a.made) && !running.works_with(a.retained) &&
         !running.works_with(a.released) && !running.works_with(a.unmapped);
}

Violations check_exit(const Model& model, bool (*fd_open)(const Export&),
                      const StillRunning& running) {
  Collector out;
  for (const auto& [handle, a] : model.allocations()) check_allocation(out, model, a, running);
  for (const auto& [base, m] : model.mappings()) check_mapping(out, model, m);
  for (const Abandoned& abandoned : abandoned_reservations(model, running)) {
    check_reservations(out, abandoned);
  }
  for (const auto& [fd, e] : model.exports()) {
    if (fd_open(e)) check_export(out, model, e);
  }
  check_ipc_exit(out, model);
  check_pool_exit(out, model);
  check_endpoint_exit(out, model);
  check_external_exit(out, model);
  Violations all = out.take();
  all.erase_if([&](const Violation& v) { return on_its_way(v, running); });
  return all;
}

}  // namespace cuvmm
