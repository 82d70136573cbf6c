// SPDX-License-Identifier: Apache-2.0
// Work that streams have been given and have not done yet: what is there with CUVMM_STREAMS=late.
//
// Each piece of work knows which others it comes after: the last one of its stream, what the rules
// of default streams say, and the event that its stream waits for. It can run once those are done.
// It does run inside driver calls alone, by the thread that makes the call: because the call waits
// for it, or because the seed says so.
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

namespace cuvmm::emulator {

class Emulator;

/// The number of a piece of work, in the order in which they were queued. 0 is none, and done.
using WorkId = std::uint64_t;
/// Runs under the emulator's lock, with the context current that was so when it was queued.
/// NOT_READY: it waits for somebody else, and is to be called again. Any other error is a fault.
using Work = std::function<CUresult(Emulator&)>;

/// A stream, whose handle may have been destroyed.
struct Lane {
  enum class Kind : std::uint8_t { kLegacy, kBlocking, kNonBlocking };
  Context* context = nullptr;
  CUstream key = nullptr;  ///< tells the streams of a context from each other
  Kind kind = Kind::kLegacy;
};

/// All of it in this process. The caller holds the emulator's lock, but for late(); what takes an
/// Emulator may let go of the lock meanwhile: nothing that was looked up before holds afterwards.
class Queues {
 public:
  /// How long a wait that nobody ends holds up a caller, and how often one looks meanwhile.
  static constexpr std::chrono::milliseconds kLongestWait{10'000};
  static constexpr std::chrono::microseconds kBetweenLooks{200};

  /// Whether work is queued at all; if not, it is done when it is submitted.
  static bool late() { return late_.load(std::memory_order_relaxed); }
  void open(const StreamsOption& option);
  /// Streams are eager, but a function of the program holds one up: what is submitted is queued,
  /// and done as soon as it can be, until nothing is left.
  void hold_up() { late_.store(true); }

  /// Queues work behind all that the lane has, and behind `after`.
  WorkId add(const Lane& lane, Work&& work, WorkId after = 0) {
    return add(lane, std::move(work), after, Sort::kWork);
  }
  /// As add(), for work that is done even if the context has a fault by then.
  WorkId add_for_certain(const Lane& lane, Work&& work);
  /// An event's record. On a blocking stream it waits for the legacy one as work does, but then the
  /// stream itself has nothing to do for it: an H100 says that such a stream is idle.
  WorkId add_record(const Lane& lane, Work&& work);
  /// The lane waits for this; a blocking one not for the legacy one as well.
  void add_wait(const Lane& lane, WorkId after);
  /// Forgets what is not running at this moment.
  void cancel(WorkId id);
  bool done(WorkId id) const { return !items_.contains(id); }
  bool idle() const { return items_.empty(); }

  /// What somebody waits for who waits for a stream, or for all streams of a context.
  std::vector<WorkId> pending(const Lane& lane) const;
  std::vector<WorkId> pending(const Context& context) const;
  /// A record that only waits for the legacy stream, and for what of that.
  struct Held {
    WorkId record = 0;
    WorkId by = 0;
  };
  Held held(const Lane& lane) const;
  std::vector<WorkId> pending(WorkId id) const;

  /// Runs work until all of these are done. TIMEOUT if nothing went on for ten seconds.
  CUresult finish(Emulator& e, const std::vector<WorkId>& wanted);
  /// A context ends: runs what can be run of it, and drops the rest.
  void settle(Emulator& e, const Context& context);
  /// Somebody asked, and was told NOT_READY. Every few times a piece of work is done, so that a
  /// program that polls gets on.
  void polled(Emulator& e, const std::vector<WorkId>& wanted);
  /// A call of the driver begins: the seed decides whether some work is done by then.
  void passed(Emulator& e);

  /// Whether this thread is inside a piece of work: what that submits is done at once.
  static bool& inside();

 private:
  using LaneKey = std::pair<const Context*, CUstream>;
  enum class Sort : std::uint8_t { kWork, kRecord, kWait };
  struct Queued {
    Lane::Kind kind = Lane::Kind::kLegacy;
    WorkId last = 0;    ///< of what the stream itself has to do
    WorkId legacy = 0;  ///< what of the legacy stream it comes after
    Held held{};        ///< the last record behind more of the legacy stream than that
  };
  struct Item {
    Work work;
    LaneKey lane;
    Context* context = nullptr;  ///< the stream's
    Context* current = nullptr;  ///< to the thread that queued it
    std::vector<WorkId> after{};
    bool running = false;
    bool certain = false;
  };
  using Items = std::map<WorkId, Item>;
  /// What has to be done for some wanted work, and in which order that can happen.
  struct Ancestors {
    std::map<WorkId, std::size_t> waits_for{};  ///< how many
    std::map<WorkId, std::vector<WorkId>> next{};
    std::vector<WorkId> ready{};
  };

  WorkId add(const Lane& lane, Work&& work, WorkId after, Sort sort);
  Ancestors ancestors(const std::vector<WorkId>& wanted) const;
  bool ready(const Item& item) const;
  /// Takes one out of `ready`: the seed's choice, the latest without a seed.
  WorkId pick(std::vector<WorkId>& ready);
  /// Runs all that can be run of these and of what they wait for; false if nothing could.
  bool pass(Emulator& e, const std::vector<WorkId>& wanted);
  /// Runs one that can be run; false if none could.
  bool run_one_of(Emulator& e, std::vector<WorkId> ready);
  bool run_any(Emulator& e);
  /// False: it is not done, because it waits or another thread is at it.
  bool run(Emulator& e, WorkId id);
  void erase(Items::iterator item);
  void fail(Context& context, CUresult why);
  std::uint64_t random();

  Items items_;
  std::map<LaneKey, Queued> lanes_;  ///< those with work
  WorkId newest_ = 0;
  std::size_t running_ = 0;
  std::uint64_t polls_ = 0;
  bool eager_ = true;       ///< but for hold_up()
  std::uint64_t seed_ = 0;  ///< 0: everything as late as can be
  std::uint64_t state_ = 0;
  inline static constinit std::atomic<bool> late_{false};
};

}  // namespace cuvmm::emulator
