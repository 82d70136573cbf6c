// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/queues.h"

#include <algorithm>

#include "api/lost_context.h"
#include "emulator/base/mutation.h"
#include "emulator/objects/host_call.h"

namespace cuvmm::emulator {

namespace {

constexpr std::uint64_t kPollsPerWork = 8;
/// Calls per piece of work that the seed runs, on average.
constexpr std::uint64_t kCallsPerWork = 4;
constexpr std::size_t kMostQueued = 4096;  ///< a driver's queues are finite too

// Makes a context current for the lifetime of this object.
class Current {
 public:
  explicit Current(Context* context) : stack_(ContextStack::of_this_thread()) {
    stack_.push(context);
    Queues::inside() = true;
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    Queues::inside() = false;
    stack_.pop();
  }

 private:
  ContextStack& stack_;
};

// The fault that later calls answer after work failed.
CUresult fault_of(CUresult why) {
  // An error that the call would have answered for its arguments becomes an error of the device,
  // because the work finds it later.
  const bool of_host = why == CUDA_ERROR_OUT_OF_MEMORY || why == CUDA_ERROR_NOT_SUPPORTED;
  return loses_context(why) || of_host ? why : CUDA_ERROR_ILLEGAL_ADDRESS;
}

}  // namespace

bool& Queues::inside() {
  static constinit thread_local bool inside = false;
  return inside;
}

void Queues::open(const StreamsOption& option) {
  seed_ = drawn_ = option.seed;
  eager_ = !option.late;
  state_.store(option.late ? kLate : 0);
}

std::uint64_t Queues::random() {  // splitmix64
  std::uint64_t x = drawn_ += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

WorkId Queues::add(const Lane& lane, Work&& work, WorkId after, Sort sort) {
  const LaneKey key{lane.context, lane.key};
  Context* const current = ContextStack::of_this_thread().live();
  Item item{.work = std::move(work),
            .lane = key,
            .context = lane.context,
            .current = current ? current : lane.context};
  const auto comes_after = [&](WorkId id) {
    if (!done(id)) item.after.push_back(id);
  };
  comes_after(after);
  WorkId of_legacy = 0;
  for (auto at = lanes_.lower_bound({lane.context, nullptr});
       at != lanes_.end() && at->first.first == lane.context; ++at) {
    // The legacy stream waits for the blocking streams, and they wait for it.
    const Lane::Kind other = at->second.kind;
    const bool legacy = lane.kind == Lane::Kind::kLegacy;
    const bool blocking = lane.kind == Lane::Kind::kBlocking;
    const bool awaited = (legacy && other == Lane::Kind::kBlocking) ||
                         (blocking && other == Lane::Kind::kLegacy && sort != Sort::kWait);
    if (at->first != key && !awaited) continue;
    const char* const order = at->first == key ? "stream-order"
                              : legacy         ? "legacy-waits"
                                               : "blocking-waits";
    if (forgets(order)) continue;
    comes_after(at->second.last);
    if (sort != Sort::kWait || legacy) comes_after(at->second.held.record);
    if (blocking && awaited) of_legacy = at->second.last;
  }
  const WorkId id = ++newest_;
  items_.emplace(id, std::move(item));
  Queued& queued = lanes_[key];
  queued.kind = lane.kind;
  if (sort == Sort::kRecord && of_legacy != 0 && of_legacy != queued.legacy) {
    queued.held = {.record = id, .by = of_legacy};
    return id;
  }
  queued.last = id;
  if (sort == Sort::kWork) queued.legacy = of_legacy;
  return id;
}

WorkId Queues::add_record(const Lane& lane, Work&& work) {
  return add(lane, std::move(work), 0, Sort::kRecord);
}

void Queues::add_wait(const Lane& lane, WorkId after) {
  add(
      lane, [](Emulator&) { return CUDA_SUCCESS; }, after, Sort::kWait);
}

WorkId Queues::add_for_certain(const Lane& lane, Work&& work) {
  const WorkId id = add(lane, std::move(work));
  items_.at(id).certain = true;
  return id;
}

void Queues::erase(Items::iterator item) {
  const auto lane = lanes_.find(item->second.lane);
  if (lane != lanes_.end()) {
    Queued& queued = lane->second;
    if (queued.last == item->first) queued.last = 0;
    if (queued.held.record == item->first) queued.held = {};
    if (queued.last == 0 && queued.held.record == 0) lanes_.erase(lane);
  }
  items_.erase(item);
  if (eager_ && items_.empty()) state_.fetch_and(~kLate);
}

// The cancelled item stays, without work, so that later items still wait for the items before it.
void Queues::cancel(WorkId id) {
  const auto found = items_.find(id);
  if (found == items_.end() || found->second.running) return;
  found->second.work = [](Emulator&) { return CUDA_SUCCESS; };
}

std::vector<WorkId> Queues::pending(WorkId id) const {
  return done(id) ? std::vector<WorkId>{} : std::vector<WorkId>{id};
}

std::vector<WorkId> Queues::pending(const Lane& lane) const {
  std::vector<WorkId> all;
  for (const auto& [key, queued] : lanes_) {
    if (key.first != lane.context) continue;
    const bool for_legacy =
        lane.kind == Lane::Kind::kLegacy && queued.kind == Lane::Kind::kBlocking;
    if (key.second != lane.key && !for_legacy) continue;
    if (queued.last != 0) all.push_back(queued.last);
    if (for_legacy && queued.held.record != 0) all.push_back(queued.held.record);
  }
  return all;
}

std::vector<WorkId> Queues::pending(const Context& context) const {
  std::vector<WorkId> all;
  for (const auto& [key, queued] : lanes_) {
    if (key.first != &context) continue;
    if (queued.last != 0) all.push_back(queued.last);
    if (queued.held.record != 0) all.push_back(queued.held.record);
  }
  return all;
}

Queues::Held Queues::held(const Lane& lane) const {
  const auto found = lanes_.find({lane.context, lane.key});
  return found == lanes_.end() ? Held{} : found->second.held;
}

bool Queues::ready(const Item& item) const {
  return !item.running && std::all_of(item.after.begin(), item.after.end(),
                                      [this](WorkId before) { return done(before); });
}

Queues::Ancestors Queues::ancestors(const std::vector<WorkId>& wanted) const {
  Ancestors all;
  std::vector<WorkId> look = wanted;
  while (!look.empty()) {
    const WorkId id = look.back();
    look.pop_back();
    const auto found = items_.find(id);
    if (found == items_.end() || all.waits_for.contains(id)) continue;
    std::size_t count = 0;
    for (const WorkId before : found->second.after) {
      if (done(before)) continue;
      ++count;
      all.next[before].push_back(id);
      look.push_back(before);
    }
    all.waits_for[id] = count;
    if (count == 0) all.ready.push_back(id);
  }
  return all;
}

WorkId Queues::pick(std::vector<WorkId>& ready) {
  const auto chosen = seed_ ? ready.begin() + static_cast<std::ptrdiff_t>(random() % ready.size())
                            : std::max_element(ready.begin(), ready.end());
  const WorkId id = *chosen;
  ready.erase(chosen);
  return id;
}

void Queues::lose(Context& context, CUresult why) {
  if (context.alive && context.fault == CUDA_SUCCESS) {
    context.fault = fault_of(why);
    ++lost_;
    state_.fetch_or(kLost);
  }
  for (auto at = items_.begin(); at != items_.end();) {
    const auto item = at++;
    const bool goes = item->second.context == &context && !item->second.certain;
    if (goes && !item->second.running) erase(item);
  }
}

void Queues::restore(Context& context) {
  if (std::exchange(context.fault, CUDA_SUCCESS) == CUDA_SUCCESS) return;
  if (--lost_ == 0) state_.fetch_and(~kLost);
}

bool Queues::run(Emulator& e, WorkId id) {
  const auto found = items_.find(id);
  if (found == items_.end()) return true;
  Item& item = found->second;
  if (item.running) return false;
  item.running = true;
  ++running_;
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    const Current current(item.current);
    result = item.work(e);
  } catch (...) {  // only memory can run out, as in locked()
  }
  --running_;
  item.running = false;
  Context& context = *item.context;
  if (result == CUDA_ERROR_NOT_READY && context.fault == CUDA_SUCCESS) return false;
  erase(found);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) lose(e, context, result);
  return true;
}

bool Queues::run_one_of(Emulator& e, std::vector<WorkId> ready) {
  while (!ready.empty()) {
    if (run(e, pick(ready))) return true;
  }
  return false;
}

bool Queues::run_any(Emulator& e) {
  std::vector<WorkId> found;
  for (const auto& [id, item] : items_) {
    if (ready(item)) found.push_back(id);
  }
  return run_one_of(e, std::move(found));
}

std::vector<Queues::Wait> Queues::present_waits(Emulator& e) {
  waits_.clear();
  asks_ = true;
  while (run_any(e)) {
  }
  asks_ = false;
  return std::move(waits_);
}

bool Queues::pass(Emulator& e, const std::vector<WorkId>& wanted) {
  Ancestors all = ancestors(wanted);
  bool any = false;
  while (!all.ready.empty()) {
    const WorkId id = pick(all.ready);
    if (!run(e, id)) continue;
    any = true;
    for (const WorkId next : all.next[id]) {
      if (--all.waits_for[next] == 0) all.ready.push_back(next);
    }
  }
  return any;
}

void Queues::settle(Emulator& e, const Context& context) {
  while (pass(e, pending(context))) {
  }
  for (auto at = items_.begin(); at != items_.end();) {
    const auto item = at++;
    if (item->second.context == &context && !item->second.running) erase(item);
  }
}

void Queues::polled(Emulator& e, const std::vector<WorkId>& wanted) {
  if (++polls_ % kPollsPerWork != 0) return;
  if (!run_one_of(e, ancestors(wanted).ready)) run_any(e);
}

void Queues::passed(Emulator& e) {
  if (items_.empty() || inside() || HostCall::on_its_thread()) return;
  if (eager_) {
    while (run_any(e)) {
    }
    return;
  }
  while (items_.size() >= kMostQueued && run_any(e)) {
  }
  if (seed_ && random() % kCallsPerWork == 0) run_any(e);
}

}  // namespace cuvmm::emulator
