// SPDX-License-Identifier: Apache-2.0
// Refusals whose cause is an earlier call: the finding names that call, and not only the refused
// one.
#include <algorithm>
#include <string>
#include <utility>

#include "api/driver/driver.h"
#include "api/words.h"
#include "recorder/holdings/counted.h"
#include "rulebook/check/check_support.h"
#include "shim/cause/context_end.h"
#include "shim/facts/host_memory.h"
#include "shim/refusals/captures.h"
#include "shim/refusals/surroundings.h"
#include "shim/session/capture_cause.h"

namespace cuvmm::shim {

namespace {

// "call 7 (cuCtxDestroy)".
std::string call_text(const Origin& by) {
  return by_text(by.call, stack_function(by.stack)).substr(4);  // without " by "
}

Violation* of_rule(Violations& violations, Rule rule) {
  const auto found =
      std::ranges::find_if(violations, [&](const Violation& v) { return v.rule == rule; });
  return found == violations.end() ? nullptr : &*found;
}

// Whether the reservation that got another address than its hint lives, and nothing is mapped in
// it.
bool is_unused(const Model& model, const Causes::Hint& hint) {
  const auto at = model.reservations().find(hint.got);
  return at != model.reservations().end() && at->second.made.call == hint.by.call &&
         !model.holds_mapping(at->second);
}

// Explains a map that met another mapping: one of the two calls may have meant a reservation that
// did not get its hint.
void name_hint(const ProcessHistory& history, Violations& violations) {
  Violation* const vacant = of_rule(violations, Rule::kMapVacant);
  if (!vacant || vacant->objects.empty()) return;
  const ObjectRef& taken = vacant->objects.front();
  const auto hint = history.causes.unmet_before(
      taken.value, taken.made.call,
      [&](const Causes::Hint& one) { return is_unused(history.model, one); });
  if (!hint) return;
  vacant->message += ", which call " + std::to_string(taken.made.call) +
                     " made at an address that call " + std::to_string(hint->by.call) +
                     " had asked for as a hint, and had not got: its reservation lies at " +
                     hex_text(hint->got) + ", and nothing is mapped there";
  vacant->objects.push_back({.kind = ObjectRef::Kind::kReservation,
                             .value = hint->got,
                             .size = hint->size,
                             .made = hint->by,
                             .ended = {}});
  vacant->fix =
      "If one of the two calls means the reservation of call " + std::to_string(hint->by.call) +
      ", map there at the address that cuMemAddressReserve returned (" + hex_text(hint->got) +
      "), and not at the hint. Otherwise first cuMemUnmap the mapping that the finding names.";
}

// Explains a free of memory that belongs to a graph.
void name_node_memory(const Causes& causes, Address address, Violations& violations) {
  Violation* const unknown = of_rule(violations, Rule::kFreeKnown);
  if (!unknown) return;
  const auto known = causes.node_memory(address);
  if (!known) return;
  const auto& [base, memory] = *known;
  unknown->message = hex_text(address) + " is in memory of a graph's allocation node";
  if (memory.captured.call != 0) {
    unknown->message += ", captured by call " + std::to_string(memory.captured.call);
  }
  if (memory.freed_within) {
    unknown->message += ": a free node of the same graph frees it in each launch";
    if (memory.freed_by.call != 0) {
      unknown->message += ", last in that of call " + std::to_string(memory.freed_by.call);
    }
  } else {
    unknown->message += ": the memory exists from a launch of the graph on, until it is freed once";
  }
  unknown->fix =
      memory.freed_within
          ? "Leave this free out: the graph's own free node has freed the memory when the launch "
            "is done."
          : "Free the memory once behind each launch of the graph, or capture its cuMemFreeAsync "
            "too, or instantiate the graph with CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.";
  unknown->objects.assign({{.kind = ObjectRef::Kind::kPoolMemory,
                            .value = base,
                            .size = memory.size,
                            .made = memory.captured,
                            .ended = {}}});
}

// The address that a call frees, and the function's kin.
std::uint64_t freed_by(const Call& call) {
  if (const auto* free = call.as<calls::MemFree>()) return free->dptr;
  if (const auto* later = call.as<calls::MemFreeAsync>()) return later->dptr;
  const auto* host = call.as<calls::MemFreeHost>();
  return host ? reinterpret_cast<std::uintptr_t>(host->p) : 0;
}

// Explains a free of memory that the driver never allocated.
void name_host_memory(Address address, Violation& unknown) {
  unknown.message =
      hex_text(address) +
      " is ordinary memory of the host (of malloc, new or mmap, or a variable), which "
      "no call of the driver allocated";
  unknown.fix =
      "Free memory by the function that belongs to its allocation: free() for malloc, delete for "
      "new, munmap for mmap, nothing for a variable. cuMemFreeHost is for memory of cuMemAllocHost "
      "and cuMemHostAlloc, cuMemFree and cuMemFreeAsync are for memory of the device.";
}

}  // namespace

void name_context_end(const Causes& causes, Violations& violations) {
  for (Violation& v : violations) {
    const auto with_it = std::ranges::find_if(v.objects, [&](const ObjectRef& one) {
      return one.ended.call != 0 && causes.ended_a_context(one.ended.call);
    });
    if (with_it == v.objects.end() || (!v.fix.empty() && v.rule != Rule::kFreeOnce)) continue;
    v.message += ": " + call_text(with_it->ended) + " ended its context";
    v.fix = v.rule == Rule::kFreeOnce
                ? "Free the memory before the call that ends its context, or leave the free out: "
                  "the end of the context has freed the memory."
                : cuvmm::detail::kFixOfContextEnd;
  }
}

void Session::name_cause(const Call& call, CUresult result, Violations& violations) {
  if (result == CUDA_ERROR_NOT_INITIALIZED && forked_from_ != 0) {
    if (Violation* const early = of_rule(violations, Rule::kDriverInitialized)) {
      early->message = forked_text(forked_from_);
      early->fix = kForkedFix;
    }
    return;
  }
  if (result == CUDA_ERROR_NOT_INITIALIZED && failed_init() != CUDA_SUCCESS) {
    if (Violation* const early = of_rule(violations, Rule::kDriverInitialized)) {
      const bool none = failed_init() == CUDA_ERROR_NO_DEVICE;
      early->message = "cuInit answered " + result_name(failed_init()) + " in this process";
      if (none) early->message += "; " + visible_devices();
      early->fix =
          "Check the result of cuInit, and make no other call of the driver where it fails.";
      if (none) early->fix += " It fails where no GPU is, or CUDA_VISIBLE_DEVICES names none.";
    }
    return;
  }
  if (may_be_hidden(result)) {
    for (Violation& v : violations) v.message += "; " + visible_devices();
  }
  if (forbidden_by_capture(result)) {
    return violations.push_back(CaptureCause::forbidden_here(*this, call.entry_point(), result,
                                                             stream_of_call(call, false)));
  }
  const Address freed = freed_by(call);
  Violation* const unknown = freed != 0 ? of_rule(violations, Rule::kFreeKnown) : nullptr;
  const bool on_host = unknown && unknown->objects.empty() && host_can_read(freed);
  const Locked lock(mutex_);
  const Causes& causes = history_.causes;
  name_context_end(causes, violations);
  if (on_host) return name_host_memory(freed, *unknown);
  if (call.as<calls::MemMap>()) {
    name_hint(history_, violations);
  } else if (freed != 0) {
    name_node_memory(causes, freed, violations);
  }
}

void Session::look_before_fork() noexcept {
  int count = 0;
  if (forked_from_ != 0 || in_flight() || mutex_.held_here()) return;
  initialized_ = platform_known_.load() ||
                 driver_(calls::DeviceGetCount{&count}) != CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace cuvmm::shim
