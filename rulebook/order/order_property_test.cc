// SPDX-License-Identifier: Apache-2.0
// The order of work against a deliberately simple twin: each stream, each event and the host has
// the full set of work that is over before it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <set>
#include <utility>

#include "rulebook/order/order_state.h"

namespace cuvmm::testing {
namespace {

using Kind = OrderState::Kind;
using Work = std::pair<std::size_t, Position>;  // index of the stream, number
using Set = std::set<Work>;

constexpr std::array kKinds = {Kind::kLegacy,      Kind::kBlocking,    Kind::kBlocking,
                               Kind::kNonBlocking, Kind::kNonBlocking, Kind::kLegacy,
                               Kind::kBlocking};
constexpr std::array<OrderState::ContextId, kKinds.size()> kContexts = {1, 1, 1, 1, 1, 2, 2};
constexpr std::size_t kEvents = 3;

struct Twin {
  // The work that is over before the stream's next work starts.
  std::array<Set, kKinds.size()> before;
  // The work that is over when the stream has nothing left to do.
  std::array<Set, kKinds.size()> given;
  std::array<Position, kKinds.size()> last{};
  std::array<Set, kEvents> events;
  Set host;

  // The default stream waits for the blocking streams of its context, and they wait for it.
  void action(std::size_t stream) {
    if (kKinds[stream] == Kind::kNonBlocking) return;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      if (kContexts[i] != kContexts[stream] || kKinds[i] == Kind::kNonBlocking) continue;
      if (kKinds[stream] == Kind::kLegacy) {
        before[stream].insert(before[i].begin(), before[i].end());
      }
    }
  }
  void spread(std::size_t stream) {
    given[stream] = before[stream];
    if (kKinds[stream] != Kind::kLegacy) return;
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      if (kContexts[i] != kContexts[stream] || kKinds[i] != Kind::kBlocking) continue;
      before[i].insert(before[stream].begin(), before[stream].end());
    }
  }
  void queue(std::size_t stream) {
    action(stream);
    before[stream].insert({stream, ++last[stream]});
    spread(stream);
  }
  // An event waits for all that new work would wait for; but a blocking stream without new work
  // waits only for what it waited for before.
  void record(std::size_t event, std::size_t stream) {
    action(stream);
    events[event] = before[stream];
    if (kKinds[stream] == Kind::kLegacy) spread(stream);
  }
  void wait(std::size_t stream, std::size_t event) {
    action(stream);
    before[stream].insert(events[event].begin(), events[event].end());
    given[stream].insert(events[event].begin(), events[event].end());
    if (kKinds[stream] == Kind::kLegacy) spread(stream);
  }
  void stream_finished(std::size_t stream) {
    // The legacy stream is busy as long as the blocking streams are. They wait for it only when
    // they get new work.
    if (kKinds[stream] == Kind::kLegacy) {
      action(stream);
      spread(stream);
    }
    host.insert(given[stream].begin(), given[stream].end());
  }
  bool comes_before(Work work, std::size_t later) const {
    if (host.contains(work) || before[later].contains(work)) return true;
    Twin asked = *this;  // the work that the next action there would wait for
    asked.action(later);
    return asked.before[later].contains(work);
  }
};

RC_GTEST_PROP(OrderProperty, AgreesWithSetsWrittenOut, ()) {
  OrderState order;
  Twin twin;
  std::array<StreamId, kKinds.size()> ids{};
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = order.open(kContexts[i], kKinds[i]);
  const int steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    const auto stream = *rc::gen::inRange<std::size_t>(0, ids.size());
    const auto event = *rc::gen::inRange<std::size_t>(0, kEvents);
    switch (*rc::gen::weightedElement<int>({{6, 0}, {3, 1}, {3, 2}, {1, 3}, {1, 4}, {1, 5}})) {
      case 0:
        order.queue(ids[stream]);
        twin.queue(stream);
        break;
      case 1:
        order.record(event, ids[stream]);
        twin.record(event, stream);
        break;
      case 2:
        order.wait(ids[stream], event);
        twin.wait(stream, event);
        break;
      case 3:
        order.over(order.given(ids[stream]));
        twin.stream_finished(stream);
        break;
      case 4:
        order.over(order.recorded(event));
        twin.host.insert(twin.events[event].begin(), twin.events[event].end());
        break;
      default:
        order.over(order.given_to(kContexts[stream]));
        for (std::size_t i = 0; i < ids.size(); ++i) {
          if (kContexts[i] != kContexts[stream]) continue;
          twin.host.insert(twin.before[i].begin(), twin.before[i].end());
        }
    }
    for (std::size_t of = 0; of < ids.size(); ++of) {
      for (Position work = 1; work <= twin.last[of]; ++work) {
        RC_ASSERT(order.finished(ids[of], work) == twin.host.contains({of, work}));
        for (std::size_t later = 0; later < ids.size(); ++later) {
          RC_ASSERT(order.comes_before(ids[of], work, ids[later]) ==
                    twin.comes_before({of, work}, later));
        }
      }
    }
  }
}

}  // namespace
}  // namespace cuvmm::testing
