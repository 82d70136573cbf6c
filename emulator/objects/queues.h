// SPDX-License-Identifier: Apache-2.0
// Work that streams have been given and have not done yet: queued with CUVMM_STREAMS=late, and with
// eager streams while a piece of work waits (emulator/core/held_up.h).
//
// Each piece of work knows which other pieces it comes after: the last piece of its stream, those
// that the rules of default streams name, and the event that its stream waits for. It can run once
// those are done. It runs on a thread that makes a driver call: because the call waits for it, or
// because the seed chose it. With eager streams a thread of the emulator runs it, too.
#pragma once

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "emulator/base/options.h"
#include "emulator/objects/context.h"
#include "rulebook/model/model.h"

namespace cuvmm::emulator {

class Emulator;

/// The number of a piece of work, in the order in which the pieces were queued. 0 stands for no
/// work, and counts as done.
using WorkId = std::uint64_t;
/// Runs under the emulator's lock, with the context current that was current when it was queued.
/// NOT_READY: the work waits for another thread or process, and is to be called again. Any other
/// error is a fault.
using Work = std::function<CUresult(Emulator&)>;

/// A stream; its handle may have been destroyed.
struct Lane {
  enum class Kind : std::uint8_t { kLegacy, kBlocking, kNonBlocking };
  Context* context = nullptr;
  CUstream key = nullptr;  ///< unique among the streams of a context
  Kind kind = Kind::kLegacy;
};

/// All queued work of this process. The caller holds the emulator's lock, except for late(). A
/// function that takes an Emulator may release the lock meanwhile: the caller must not use pointers
/// from before the call.
class Queues {
 public:
  /// How long a wait that nothing ends delays a caller, and the time between two looks meanwhile.
  static constexpr std::chrono::milliseconds kLongestWait{10'000};
  static constexpr std::chrono::microseconds kBetweenLooks{200};

  /// Whether work is queued; if not, it is done when it is submitted.
  static bool late() { return (state_.load(std::memory_order_relaxed) & kLate) != 0; }
  /// Whether a context is lost: work of it failed.
  static bool lost() { return (state_.load(std::memory_order_relaxed) & kLost) != 0; }
  /// Neither of both, so that no call needs a look at queues and contexts.
  static bool plain() { return state_.load(std::memory_order_relaxed) == 0; }
  void open(const StreamsOption& option);
  /// Streams are eager, but a wait or a function of the program delays one: submitted work is
  /// queued, and done as soon as it can be, until no work is left.
  void hold_up() { state_.fetch_or(kLate); }

  /// Queues work after all work that the lane has, and after `after`.
  WorkId add(const Lane& lane, Work&& work, WorkId after = 0) {
    return add(lane, std::move(work), after, Sort::kWork);
  }
  /// As add(), for work that runs even if the context has a fault by then.
  WorkId add_for_certain(const Lane& lane, Work&& work);
  /// Queues an event's record. On a blocking stream the record waits for the legacy stream as work
  /// does, but the stream itself counts as idle meanwhile, because an H100 reports such a stream as
  /// idle.
  WorkId add_record(const Lane& lane, Work&& work);
  /// Makes the lane wait for `after`. The wait of a blocking lane does not wait for the legacy
  /// stream as well.
  void add_wait(const Lane& lane, WorkId after);
  /// Empties a piece of work that is not running at this moment.
  void cancel(WorkId id);
  bool done(WorkId id) const { return !items_.contains(id); }
  bool idle() const { return items_.empty(); }

  /// The work that a caller waits for: that of a stream, or of all streams of a context.
  std::vector<WorkId> pending(const Lane& lane) const;
  std::vector<WorkId> pending(const Context& context) const;
  /// A record that waits only for the legacy stream, and the legacy stream's work that it waits
  /// for.
  struct Held {
    WorkId record = 0;
    WorkId by = 0;
  };
  Held held(const Lane& lane) const;
  std::vector<WorkId> pending(WorkId id) const;

  /// Something that work waits for when it answers NOT_READY.
  struct Wait {
    Address word = 0;        ///< a word with another value
    bool semaphore = false;  ///< a semaphore that other processes may have
  };
  /// The work that runs says so before it answers NOT_READY.
  void waits_for(const Wait& wait) {
    if (asks_) waits_.push_back(wait);
  }

  /// Runs work until all of `wanted` is done. TIMEOUT if no work progressed for ten seconds, and
  /// nobody is left who could end the waits (held_up.h).
  CUresult finish(Emulator& e, const std::vector<WorkId>& wanted);
  /// Work of a context failed: drops the rest of its work. From then on nearly every call answers
  /// the fault.
  void lose(Context& context, CUresult why);
  /// lose(), and what the profile's driver does to the other contexts of the device.
  void lose(Emulator& e, Context& context, CUresult why);
  /// A context has ended, and has no fault any more.
  void restore(Context& context);
  /// A context ends: runs the work of it that can run, and drops the rest.
  void settle(Emulator& e, const Context& context);
  /// A call answered NOT_READY. Every few such answers one piece of work is done, so that a program
  /// that polls makes progress.
  void polled(Emulator& e, const std::vector<WorkId>& wanted);
  /// A call of the driver begins: the seed decides whether some work is done by then.
  void passed(Emulator& e);

  /// Whether this thread is inside a piece of work: work that it submits is done at once.
  static bool& inside();

 private:
  using LaneKey = std::pair<const Context*, CUstream>;
  enum class Sort : std::uint8_t { kWork, kRecord, kWait };
  struct Queued {
    Lane::Kind kind = Lane::Kind::kLegacy;
    WorkId last = 0;    ///< the last item that the stream itself has to do
    WorkId legacy = 0;  ///< the item of the legacy stream that `last` comes after
    /// The last record that comes after later work of the legacy stream than `legacy`.
    Held held{};
  };
  struct Item {
    Work work;
    LaneKey lane;
    Context* context = nullptr;  ///< of the stream
    Context* current = nullptr;  ///< of the thread that queued the work
    std::vector<WorkId> after{};
    bool running = false;
    bool certain = false;
  };
  using Items = std::map<WorkId, Item>;
  /// The items that must be done for some wanted work, and in which order that can happen.
  struct Ancestors {
    std::map<WorkId, std::size_t> waits_for{};  ///< number of items that each still waits for
    std::map<WorkId, std::vector<WorkId>> next{};
    std::vector<WorkId> ready{};
  };

  WorkId add(const Lane& lane, Work&& work, WorkId after, Sort sort);
  Ancestors ancestors(const std::vector<WorkId>& wanted) const;
  bool ready(const Item& item) const;
  /// Removes an item from `ready` and returns it: the seed's choice, the latest item without a
  /// seed.
  WorkId pick(std::vector<WorkId>& ready);
  /// Runs all items of `wanted`, and of those that they wait for, that can run; false if none
  /// could.
  bool pass(Emulator& e, const std::vector<WorkId>& wanted);
  /// Runs one item that can run; false if none could.
  bool run_one_of(Emulator& e, std::vector<WorkId> ready);
  bool run_any(Emulator& e);
  /// What the work waits for that can run and is not done.
  std::vector<Wait> present_waits(Emulator& e);
  /// False: the item is not done, because it waits or another thread runs it.
  bool run(Emulator& e, WorkId id);
  void erase(Items::iterator item);
  std::uint64_t random();

  Items items_;
  std::map<LaneKey, Queued> lanes_;  ///< the lanes that have work
  WorkId newest_ = 0;
  std::size_t running_ = 0;
  std::size_t callers_ = 0;  ///< threads in finish()
  bool asks_ = false;        ///< work that waits is to say for what
  std::vector<Wait> waits_{};
  std::uint64_t polls_ = 0;
  bool eager_ = true;        ///< as the option says, whatever hold_up() does
  std::uint64_t seed_ = 0;   ///< 0: every piece of work as late as it can
  std::uint64_t drawn_ = 0;  ///< of the random numbers
  std::size_t lost_ = 0;     ///< contexts with a fault
  static constexpr unsigned kLate = 1, kLost = 2;
  inline static constinit std::atomic<unsigned> state_{0};
};

}  // namespace cuvmm::emulator
