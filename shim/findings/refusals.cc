// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/refusals.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "shim/base/own_stack.h"
#include "shim/findings/refusal_text.h"
#include "shim/stack/python/site.h"

namespace cuvmm::shim {

namespace {

// The driver itself logged the refusal: such a stack begins inside of the driver, and passes
// through the shim.
void leave_out_driver(std::vector<Frame>& frames) {
  const std::string driver = frames.empty() ? std::string() : frames.front().module;
  const auto outside = [&](const Frame& frame) {
    return frame.module != driver && frames::file_name(frame.module) != "libcuvmm-shim.so";
  };
  frames.erase(frames.begin(), std::ranges::find_if(frames, outside));
}

// The name lives as long as its entry, until the process ends.
const char* runtime_of(std::vector<Frame>& frames) {
  std::string name = frames::take_runtime_frames(frames);
  return name.empty() ? nullptr : (new std::string(std::move(name)))->c_str();
}

}  // namespace

Refusals::Key Refusals::key_of(EntryPoint entry, CUresult result, bool late, StackId stack) {
  return late ? Key(EntryPoint::kCount, result, 0) : Key(entry, result, folding_site(stack));
}

Refusals::Key Refusals::key_of(const Refusal& refusal) {
  if (refusal.unchecked.empty()) {
    return key_of(refusal.entry, refusal.result, refusal.late, refusal.stack);
  }
  std::string what = refusal.unchecked;
  for (const Refusal::Aside& aside : refusal.asides) what += '\n' + aside.text;
  // Not 0, because 0 stands for earlier work.
  return Key(EntryPoint::kCount, refusal.result,
             std::hash<std::string>()(what) | std::uintptr_t{1});
}

void Refusals::add_purpose(RefusalEntry* entry, Refusal::Purpose purpose) {
  if (entry->refusal.late || !entry->refusal.unchecked.empty()) return;
  for (Waiting& each : purposes_) {
    if (each.entry == entry && each.purpose.what == purpose.what &&
        each.purpose.size == purpose.size) {
      ++each.count;
      return;
    }
  }
  if (purposes_.size() == kMostWaiting) return;
  purposes_.push_back({entry, purpose, 1});
  waiting_[static_cast<std::size_t>(entry->refusal.entry)].fetch_add(1, std::memory_order_relaxed);
  all_waiting_.fetch_add(1, std::memory_order_relaxed);
}

bool Refusals::fold(EntryPoint entry, CUresult result, bool late, StackId stack,
                    Refusal::Purpose purpose) {
  if (!mutex_.lock_within(kDescribingPatience)) return true;
  const Locked lock(mutex_, kHeldAlready);
  const auto known = entries_.find(key_of(entry, result, late, stack));
  if (known == entries_.end()) return entries_.size() == kMost;
  known->second->count.fetch_add(1, std::memory_order_relaxed);
  add_purpose(known->second, purpose);
  return true;
}

void Refusals::take(Refusal refusal, std::uint64_t count, bool quiet) {
  RefusalEntry* entry = nullptr;
  {
    if (!mutex_.lock_within(kDescribingPatience)) return;
    const Locked lock(mutex_, kHeldAlready);
    const Key key = key_of(refusal);
    if (const auto known = entries_.find(key); known != entries_.end()) {
      known->second->count.fetch_add(count, std::memory_order_relaxed);
      return add_purpose(known->second, refusal.purpose);
    }
    auto fresh = std::make_unique<RefusalEntry>();
    fresh->refusal = std::move(refusal);
    fresh->count.store(count, std::memory_order_relaxed);
    fresh->quiet.store(quiet, std::memory_order_relaxed);
    entries_.emplace(key, fresh.get());
    entry = fresh.release();
    add_purpose(entry, entry->refusal.purpose);
    (last_ ? last_->next : first_).store(entry, std::memory_order_release);
    last_ = entry;
  }
  prepare_symbolizer();
  const auto work = [&] { describe(*entry); };
  if (!findings_stack().run(work, kDescribingPatience)) describe(*entry);
}

void Refusals::describe(RefusalEntry& entry) {
  entry.stack = symbolize(entry.refusal.stack);
  if (entry.refusal.in_driver) leave_out_driver(entry.stack);
  if (!entry.refusal.runtime) entry.refusal.runtime = runtime_of(entry.stack);
  if (entry.refusal.memory) {
    for (const HeldMemory::Creator& creator : entry.refusal.memory->held.creators) {
      frames::take_runtime_frames(entry.creators.emplace_back(symbolize(creator.stack)));
    }
  }
  for (const Refusal::Aside& aside : entry.refusal.asides) {
    take_runtime_frames(entry.asides.emplace_back(symbolize(aside.stack)));
  }
  entry.json = refusal_members(entry);
  entry.ready.store(true, std::memory_order_release);
}

void Refusals::got(EntryPoint entry, Refusal::Purpose purpose) {
  if (!mutex_.lock_within(kDescribingPatience)) return;
  const Locked lock(mutex_, kHeldAlready);
  std::erase_if(purposes_, [&](const Waiting& each) {
    const bool same = each.entry->refusal.entry == entry && each.purpose.what == purpose.what;
    if (!same || purpose.size < each.purpose.size) return false;
    each.entry->handled.fetch_add(each.count, std::memory_order_relaxed);
    waiting_[static_cast<std::size_t>(entry)].fetch_sub(1, std::memory_order_relaxed);
    all_waiting_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  });
}

void Refusals::show_forked() {
  for (RefusalEntry* entry = first_.load(); entry; entry = entry->next.load()) {
    if (entry->refusal.forked_from == 0) continue;
    return entry->quiet.store(false, std::memory_order_relaxed);  // one of them says it all
  }
}

void Refusals::clear(bool whole) {
  first_.store(nullptr);
  last_ = nullptr;
  for (auto& each : waiting_) each.store(0);
  all_waiting_.store(0);
  if (whole) {
    entries_.clear();
    purposes_.clear();
  } else {
    // The tables' nodes may point anywhere, so the child abandons the tables.
    new (&entries_) decltype(entries_)();
    new (&purposes_) decltype(purposes_)();
  }
}

}  // namespace cuvmm::shim
