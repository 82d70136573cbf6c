// SPDX-License-Identifier: Apache-2.0
#include "shim/session/session.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "api/posix/cancel_off.h"
#include "api/visit_call.h"
#include "api/words.h"
#include "recorder/holdings/words.h"
#include "rulebook/check/check_support.h"
#include "shim/base/runtime_call.h"
#include "shim/findings/arguments.h"
#include "shim/history/tracked.h"
#include "shim/objects/alive.h"
#include "shim/output/output.h"
#include "shim/queued_work/places.h"

namespace cuvmm::shim {

std::uint64_t CallObserver::now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void Session::find_devices(const Touched& touched, CUstream stream, Facts::Place& place) {
  {
    // The session asks the driver only if the call touches bytes that a rule judges.
    const Locked lock(mutex_);
    bool followed = false;
    for (std::size_t i = 0; i < touched.count; ++i) {
      const Address base = touched.list[i].base;
      followed = followed || history_.model.reservation_at(base) ||
                 history_.model.mapping_at(base) ||
                 history_.model.pools().bounded_memory_at(base) ||
                 history_.model.external().buffer_at(base) || history_.model.ipc().open_at(base);
    }
    if (!followed) return;
  }
  facts_.find_device(stream, touched.count != 0 && !touched.list[0].fill, place);
  for (std::size_t i = 0; i < touched.count; ++i) {
    const Touch& touch = touched.list[i];
    if (!touch.context) continue;
    (touch.peer_source ? place.peer_device : place.device) = facts_.device_of(touch.context);
    place.context = Facts::Answer::kYes;
  }
}

void Session::ask_about(CUmemGenericAllocationHandle unknown, Facts& facts) {
  const Unlocked unlocked(mutex_);
  facts.unicast.handle_readable = facts_.handle_readable(unknown);
}

void Session::ask_about(CUmemoryPool unknown, Facts& facts) {
  const Unlocked unlocked(mutex_);
  facts_.find_pool(unknown, facts.pool);
}

void Session::learn_platform(Facts& facts) {
  const CancelOff no_cancel;
  Platform platform;
  const CUresult answer = facts_.learn(platform);
  if (answer == CUDA_ERROR_NOT_INITIALIZED) facts.initialized = Facts::Answer::kNo;
  if (answer != CUDA_SUCCESS) return;
  if (platform.driver_version != 0) driver_version_.store(platform.driver_version);
  const Locked lock(mutex_);
  if (platform_known_.load(std::memory_order_relaxed)) return;
  history_.model.platform() = std::move(platform);
  platform_known_.store(true, std::memory_order_release);
}

std::optional<Violations> Session::leaks(std::chrono::milliseconds limit,
                                         bool (*fd_open)(const Export&), bool interrupted,
                                         std::vector<std::uint64_t>* undecided,
                                         std::span<const std::uint32_t> asleep) {
  // Between a create and the map that it is for, a thread makes a few calls, or some hundreds.
  // Other threads may make any number of calls meanwhile.
  constexpr std::uint64_t kRecent = 1024;
  if (!mutex_.lock_within(limit)) return std::nullopt;
  const Locked lock(mutex_, kHeldAlready);
  // Listed under the lock: a thread that begins later has made none of the objects in the model.
  const std::vector<std::uint32_t> threads = other_threads(asleep);
  StillRunning running(threads);
  if (interrupted) running.interrupted = t_state.thread;
  const std::uint64_t numbers = numbers_.load(std::memory_order_relaxed);
  running.since = threads.empty() && numbers > kRecent ? numbers - kRecent : 0;
  if (undecided) {
    for (const auto& [handle, a] : history_.model.allocations()) {
      if (cuvmm::leaks(history_.model, a, {}) && !cuvmm::leaks(history_.model, a, running)) {
        undecided->push_back(a.made.call);
      }
    }
  }
  Violations all = check_exit(history_.model, fd_open, running);
  Violations dma_bufs;
  history_.add_left_dma_bufs(dma_bufs);
  dma_bufs.erase_if([&](const Violation& v) { return running.works_with(v.objects.front().made); });
  all.append(dma_bufs);
  return all;
}

std::string Session::memory_of(const ObjectRef& object) {
  const bool exported = object.kind == ObjectRef::Kind::kExport;
  if (exported) return memory_name(static_cast<int>(object.value));
  const bool imports = object.kind == ObjectRef::Kind::kAllocation ||
                       object.kind == ObjectRef::Kind::kExternalMemory;
  if (!imports) return {};
  const Locked lock(mutex_);
  const auto found = history_.imported.find(object.value);
  return found != history_.imported.end() ? found->second : std::string();
}

bool Session::report(const Call& call, Violations violations, const Answer& answer,
                     std::uint64_t index, StackId stack) {
  violations = judge(std::move(violations), answer);
  if (violations.empty()) return false;
  if (index == 0) index = next_number();  // of a batch that nothing but this looked at
  const std::vector<ArgumentText> arguments = describe_arguments(call);
  for (Violation& violation : violations) {
    Finding finding;
    finding.violation = std::move(violation);
    finding.entry = call.entry_point();
    if (const RuntimeCall* runtime = runtime_call()) finding.runtime = runtime->name;
    finding.arguments = arguments;
    finding.answer = answer;
    finding.call_index = index;
    finding.stack = stack;
    const bool probe = finding.probe();
    if (probe) {
      finding.purpose =
          visit_call<std::uint64_t>(call, [](const auto& made) { return purpose_of(made); });
    }
    sink_.take(std::move(finding));
    if (probe) probes_wait_.store(true, std::memory_order_relaxed);
  }
  return true;
}

void Session::report_wrong(const Call& call, const Answer& answer, Violations wrong,
                           std::uint64_t index, const Caller& caller) noexcept {
  try {
    report(call, std::move(wrong), answer, index, capture_stack(caller));
  } catch (...) {
    turn_off();
  }
}

Violations Session::wrong_arguments(CUstream stream, const LaunchArgument* arguments,
                                    std::size_t count, bool& all_around) {
  // The generation is read before the model, so that the next launch looks at an argument again if
  // the argument's memory changes meanwhile.
  const ArgumentCache::Asked known(reinterpret_cast<std::uintptr_t>(stream),
                                   work_.arguments().generation());
  ArgumentCache& looked_at = work_.arguments().right();
  const std::span all(arguments, count);
  Violations found;
  Facts::Place place;
  bool asked = false;
  for (const LaunchArgument& one : all) {
    if (looked_at.knows(ArgumentCache::granule(one.value), known)) [[likely]]
      continue;
    if (looked_at.knows(one.value, known)) {
      all_around = false;
      continue;
    }
    if (!std::exchange(asked, true)) facts_.find_device(stream, false, place);
    const LookedAt seen = look_at(all, one, place.device);
    all_around = all_around && seen.all_around;
    if (seen.verdict.found.empty()) {
      // An argument that is doubtful beside these arguments may be wrong beside others.
      const std::uint64_t what = seen.all_around ? ArgumentCache::granule(one.value) : one.value;
      if (!seen.verdict.doubtful) looked_at.note(what, known);
      continue;
    }
    const Violation& first = seen.verdict.found.front();
    const bool listed = std::any_of(found.begin(), found.end(),
                                    [&](const Violation& v) { return v.rule == first.rule; });
    if (!listed) found.append(seen.verdict.found);
  }
  return found;
}

Violations Session::wrong_arguments(CUstream stream, const Pointers& pointers,
                                    ArgumentCache::Asked asked) {
  LaunchArgument arguments[Pointers::kMostArguments];
  const std::size_t count = pointers.arguments(arguments);
  std::uint64_t exactly = 0;
  for (std::size_t i = 0; i < count; ++i) {
    exactly = ArgumentCache::join(exactly, arguments[i].value);
  }
  ArgumentCache& looked_at = work_.arguments().right();
  if (looked_at.knows(exactly, asked)) return {};
  bool all_around = true;
  Violations found = wrong_arguments(stream, arguments, count, all_around);
  if (found.empty()) looked_at.note(all_around ? pointers.fingerprint() : exactly, asked);
  return found;
}

Violations Session::early_use(const QueuedWork::Ticket& ticket, const char* name,
                              const UsedMemory& memory) {
  auto early = work_.comes_early(ticket, memory);
  if (!early) [[likely]]
    return {};
  while (early && may_be_end(memory, early->place)) {
    early = work_.comes_early(ticket, memory, early->place + 1);
  }
  if (!early) return {};
  const std::uint64_t used_on = work_.stream_of(ticket);
  const std::string use = std::string(name) + " is " + hex_text(early->address);
  const Locked lock(mutex_);
  return check_early_use(history_.model,
                         {use, early->address, early->allocated_on, used_on, early->of_graph});
}

bool Session::may_be_end(const UsedMemory& memory, std::size_t place) {
  const UsedRange one = memory[place];
  if (one.size != 0) return false;
  {
    const Locked lock(mutex_);
    // The end of a part of an allocation lies inside of the allocation.
    const auto* const pooled = history_.model.pools().memory_at(one.base);
    if (pooled && pooled->base != one.base) return false;
  }
  const MemoryBefore before = what_ends_at(one.base);
  if (before.from == 0) return false;
  const bool unseen =
      memory.given_structs || (memory.given_outside && !work_.bounds().holds(before.from));
  if (before.ends && unseen) return true;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const UsedRange other = memory[i];
    if (other.node == one.node && other.base >= before.from && other.base < one.base) return true;
  }
  return false;
}

MemoryBefore Session::what_ends_at(Address address) {
  {
    const Locked lock(mutex_);
    const MemoryBefore known = memory_before(history_.model, address);
    if (known.from != 0) return known;
  }
  const UsedRange other = work_.watched().ends_at(address);
  return {other.base, other.size != 0};
}

Place Session::place_of(std::uint64_t address, bool streamless, bool& always) {
  if (address == 0) return Place::kDevice;  // the function's name says that this side is a device's
  std::optional<Place> known;
  {
    const Locked lock(mutex_);
    known = known_place(history_.model, address);
  }
  // A call without a stream has to know whether memory of a device has SYNC_MEMOPS.
  if (known && (!streamless || *known != Place::kDevice)) return *known;
  const PlaceInDriver asked = ask_place(work_.questions(), address);
  always |= asked.sync_memops;
  return known.value_or(asked.place);
}

bool Session::is_known_of_a_device(std::uint64_t address) {
  // No stream has this handle, so that these answers are kept apart from those of launches.
  const ArgumentCache::Asked asked(~std::uint64_t{1}, work_.arguments().generation());
  const ArgumentCache& known = work_.arguments().right();
  if (known.knows(ArgumentCache::granule(address), asked) || known.knows(address, asked)) [[likely]]
    return true;
  return learn_of_a_device(address, asked);
}

// Notes only memory whose end, or the begin of other memory there, changes the generation.
bool Session::learn_of_a_device(std::uint64_t address, ArgumentCache::Asked asked) {
  const Locked lock(mutex_);
  const Model& model = history_.model;
  Address base = 0;
  Size size = 0;
  if (const Mapping* const mapping = model.mapping_at(address)) {
    if ((mapping->access.read & AccessMask::kHostBit) != 0) return false;
    base = mapping->base;
    size = mapping->size;
  } else if (const PlainMemory* const plain = model.memory().at(address)) {
    if (plain->kind != PlainMemory::Kind::kDevice || model.pools().memory_at(address)) return false;
    base = plain->base;
    size = plain->size;
  } else {
    return false;
  }
  const bool whole = ArgumentCache::granule_within(address, base, size);
  work_.arguments().right().note(whole ? ArgumentCache::granule(address) : address, asked);
  return true;
}

bool Session::is_of_a_device(std::uint64_t address) {
  const RelaxedCapture relaxed(work_.questions(), work_.captures());
  bool always = false;
  return place_of(address, false, always) == Place::kDevice;
}

HostWait Session::transfer_wait(TransferForm form, const Sides& sides) {
  const bool streamless = form == TransferForm::kCopy || form == TransferForm::kFill;
  const RelaxedCapture relaxed(work_.questions(), work_.captures());
  bool always = false;
  const Place to = place_of(sides.to, streamless, always);
  const bool fills = form == TransferForm::kFill || form == TransferForm::kFillAsync;
  const Place from = fills ? to : place_of(sides.from, streamless, always);
  HostWait wait = host_wait(form, from, to);
  if (streamless && wait == HostWait{}) always |= context_has_sync_memops(work_.questions());
  if (always) wait = host_wait_with_sync_memops(form, from, to);
  // An empty copy may have nothing to wait for.
  if (sides.empty && wait.grade == HostWait::Grade::kWaits) {
    wait.grade = HostWait::Grade::kMayWait;
  }
  return wait;
}

bool Session::gives_host_memory(const Layout& layout, void** parameters, void** extra) {
  const Bounds::Range host = work_.host().range();
  // No stream has this handle, so that these answers are kept apart from the answers of
  // wrong_arguments().
  const ArgumentCache::Asked known(~std::uint64_t{0}, work_.arguments().generation());
  return any_written(layout, parameters, extra, [&](Address word) {
    if (!host.holds(word) || work_.arguments().right().knows(word, known)) return false;
    const Locked lock(mutex_);
    const auto place = known_place(history_.model, word);
    if (place && *place != Place::kDevice) return true;
    work_.arguments().right().note(word, known);
    return false;
  });
}

Session::LookedAt Session::look_at(std::span<const LaunchArgument> all, const LaunchArgument& one,
                                   int device) {
  {
    const Locked lock(mutex_);
    const Model& model = history_.model;
    LookedAt seen{cuvmm::check_argument(model, all, one, device, false)};
    if (const Mapping* const mapping = model.mapping_at(one.value)) {
      seen.all_around = !seen.verdict.doubtful &&
                        ArgumentCache::granule_within(one.value, mapping->base, mapping->size);
      return seen;
    }
    const ArgumentVerdict if_vacant = cuvmm::check_argument(model, all, one, device, true);
    seen.verdict.doubtful |= if_vacant.doubtful;
    if (!seen.verdict.found.empty() || if_vacant.found.empty()) return seen;
  }
  // Memory of another kind may lie by now at the address of a former reservation.
  if (facts_.holds_memory(one.value)) return {};
  const Locked lock(mutex_);
  return {cuvmm::check_argument(history_.model, all, one, device, true)};
}

void Session::fell_back(EntryPoint entry, Refusal::Purpose purpose) {
  if (auto* const asked = asked_.exchange(nullptr)) {
    probes_wait_.store(false, std::memory_order_relaxed);
    asked();
    // Refused calls may wait as well: the next call looks for them.
    probes_wait_.store(true, std::memory_order_relaxed);
    return;
  }
  if (!sink_.waits(entry)) return;
  // The flag is cleared first, so that the store of a refused call or of ask() that comes meanwhile
  // survives; ask() writes the two variables in the other order.
  probes_wait_.store(false);
  if (sink_.fell_back(entry, purpose) || asked_.load()) probes_wait_.store(true);
}

bool Session::report_crash(const InFlight& call) noexcept {
  try {
    Answer answer;
    answer.crashed = true;
    const Call made = call.box(call.call);
    Violations wrong = *call.violations;
    if (wrong.empty()) wrong = explain_crash(made);
    return report(made, std::move(wrong), answer, call.origin->call, capture_stack(call.caller));
  } catch (...) {
    turn_off();
  }
  return false;
}

void Session::enforce(const Violations& violations, Answer& answer) const {
  if (const Violation* forbidden = first_to_enforce(violations)) {
    answer = {.result = enforced_code(*forbidden), .enforced = true};
  }
}

void Session::turn_off() noexcept {
  if (!off_.exchange(true)) say("out of memory: checking is off from here on, calls go through");
}

bool Session::closing(int fd, bool sweeps, const Caller& caller) noexcept {
  // Two closes are not the program's: a close by a driver, and a close by a function that the
  // session calls itself.
  if (in_flight() || off() || mutex_.held_here()) return false;
  const CancelOff no_cancel;
  g_tracked.remove(fd);
  bool ended = false;
  try {
    const bool open = ::fcntl(fd, F_GETFD) >= 0;
    Origin here;
    here.stack = capture_stack(caller);
    Violations wrong;
    {
      const Locked lock(mutex_);
      number(here);
      // A program that closes a whole range of numbers does not know which of them are open.
      if (open || !sweeps) wrong = check_close(history_.model, fd, open);
      // A descriptor that was wrong to close stays the driver's, because a driver may use the
      // number again.
      ended = wrong.empty() && history_.end_descriptor(fd, open, here);
      const bool again = !wrong.empty() && wrong.front().rule == Rule::kExportFdClosedOnce;
      if (ended || again) g_tracked.add(fd);
      if (mirror_.on()) mirror_.show_closed(history_, fd, here);
    }
    for (Violation& violation : wrong) {
      Finding finding;
      finding.violation = std::move(violation);
      finding.call_index = here.call;
      finding.stack = here.stack;
      sink_.take(std::move(finding));
    }
  } catch (...) {
    turn_off();
  }
  return ended;
}

void Session::duplicated(int from, int to, const Caller& caller) noexcept {
  if (in_flight() || off() || mutex_.held_here()) return;
  const CancelOff no_cancel;
  g_tracked.remove(to);
  try {
    Origin here;
    here.stack = capture_stack(caller);
    const Locked lock(mutex_);
    number(here);
    history_.forget_descriptor(to);
    if (history_.duplicate(from, to, here)) g_tracked.add(to);
    if (mirror_.on()) mirror_.show_closed(history_, to, here);
  } catch (...) {
    turn_off();
  }
}

// The child has only this thread.
void Session::start_in_child(bool whole) {
  if (forked_from_ == 0 && initialized_) forked_from_ = ::getppid();
  capture_lost_.store(false);
  open_captures_.store(false);
  if (!whole) {
    history_.abandon();
    platform_known_.store(false);
  }
  history_.clear();
  mirror_.restart_in_child();
  timeline_.restart_in_child();
  numbers_.store(0);
  work_.start_in_child(whole);
  counter_.clear();
  t_state.thread = static_cast<std::uint32_t>(::gettid());
}

}  // namespace cuvmm::shim
