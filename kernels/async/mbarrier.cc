// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory (mbarrier). The bits of such a barrier are opaque to programs; here
// they are, from the lowest: 20 of arrivals that are pending, 20 of those that each phase expects,
// 21 of bytes that are pending, and the highest bit, which is the phase.
#include "kernels/async/mbarrier.h"

#include <cstring>

#include "kernels/async/opcodes.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

constexpr unsigned kCountBits = 20, kBytesAt = 40, kBytesBits = 21, kPhaseAt = 63;
constexpr std::uint64_t kMostCount = (std::uint64_t{1} << kCountBits) - 1;
constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << kBytesBits) - 1;

struct State {
  std::uint64_t pending = 0, expected = 0, bytes = 0, phase = 0;

  static State of(std::uint64_t word) {
    return {word & kMostCount, word >> kCountBits & kMostCount, word >> kBytesAt & kMostBytes,
            word >> kPhaseAt};
  }
  std::uint64_t word() const {
    return (pending & kMostCount) | (expected & kMostCount) << kCountBits |
           (bytes & kMostBytes) << kBytesAt | phase << kPhaseAt;
  }
  void complete() {
    if ((pending & kMostCount) != 0 || (bytes & kMostBytes) != 0) return;
    phase ^= 1;
    pending = expected;
  }
};

enum Effect : std::uint8_t { kInit, kInvalidate, kArrive, kDrop, kExpect, kArriveExpecting, kDone };

// option: the effect; b: a number of arrivals or of bytes, 1 where it is 0; v[0]: the state before
void change(Warp& warp, const Instruction& i, Mask m) {
  each_lane(m, [&](unsigned lane) {
    char* const at = warp.at(i, lane, warp.reg(i.a)[lane] + i.immediate, 8, true);
    if (!at) return;
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    State state = State::of(word);
    const std::uint64_t number = i.b ? static_cast<std::uint32_t>(warp.reg(i.b)[lane]) : 1;
    switch (i.option) {
      case kInit:
        state = {number, number, 0, 0};
        break;
      case kInvalidate:
        state = {};
        break;
      case kDrop:
        state.expected -= number;
        [[fallthrough]];
      case kArrive:
        state.pending -= number;
        break;
      case kArriveExpecting:
        state.pending -= 1;
        [[fallthrough]];
      case kExpect:
        state.bytes += number;
        break;
      default:
        state.bytes -= number;
    }
    if (i.option >= kArrive && i.option != kExpect) state.complete();
    const std::uint64_t changed = state.word();
    std::memcpy(at, &changed, sizeof changed);
    if (i.v[0]) warp.reg(i.v[0])[lane] = word;
  });
}

// option 1: b is the parity of a phase, else a state of it
void test(Warp& warp, const Instruction& i, Mask m) {
  Mask done = 0;
  each_lane(m, [&](unsigned lane) {
    const char* const at = warp.at(i, lane, warp.reg(i.a)[lane] + i.immediate, 8, false);
    if (!at) return;
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const std::uint64_t phase =
        i.option ? warp.reg(i.b)[lane] & 1 : State::of(warp.reg(i.b)[lane]).phase;
    done |= static_cast<Mask>(State::of(word).phase != phase) << lane;
  });
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | done;
}

void pending_count(Warp& warp, const Instruction& i, Mask m) {
  each_lane(
      m, [&](unsigned lane) { warp.reg(i.v[0])[lane] = State::of(warp.reg(i.a)[lane]).pending; });
}

void decode_test(Site& site, Space space) {
  site.out.option = site.modifiers.take("parity") ? 1 : 0;
  if (!site.expect(3, 4)) return;  // the last operand limits the time of a try_wait
  site.out.run = test;
  site.out.p = site.predicate_target(site.operand(0));
  site.out.b = site.source(2, site.out.option ? Type::kU32 : Type::kB64);
  site.address(site.operand(1), space);
}

void decode_mbarrier(Site& site) {
  Modifiers& modifiers = site.modifiers;
  site.out.effect = kOrders;
  constexpr std::string_view kVerbs[] = {"init",        "inval",     "arrive",
                                         "arrive_drop", "expect_tx", "complete_tx",
                                         "test_wait",   "try_wait",  "pending_count"};
  const std::size_t verb = modifiers.take_one(kVerbs, std::size(kVerbs));
  for (const char* order : {"acquire", "release", "relaxed", "cta", "cluster"})
    modifiers.take(order);
  const Space space = modifiers.take_space();
  const bool known = space == Space::kShared || space == Space::kNone;
  if (verb == std::size(kVerbs) || !known || modifiers.take_type() != Type::kB64)
    return site.refuse("it is not known in this form");
  if (kVerbs[verb].ends_with("_wait")) return decode_test(site, space);
  if (kVerbs[verb] == "pending_count") {
    if (!site.expect(2)) return;
    site.out.run = pending_count;
    site.out.v[0] = site.target(0);
    site.out.a = site.source(1, Type::kB64);
    return;
  }
  constexpr Effect kEffects[] = {kInit, kInvalidate, kArrive, kDrop, kExpect, kDone};
  site.out.option = kEffects[verb];
  const bool arrives = site.out.option == kArrive || site.out.option == kDrop;
  if (arrives && modifiers.take("expect_tx")) {
    if (site.out.option == kDrop) return site.refuse("it is not known in this form");
    site.out.option = kArriveExpecting;
  }
  if (arrives) modifiers.take("noComplete");
  // Arrivals give a state first, unless nobody wants it.
  const bool gives =
      arrives && site.operands() > 1 && site.operand(0).kind != Operand::Kind::kAddress;
  const std::size_t at = gives ? 1 : 0;
  if (!site.expect(at + 1, at + 2)) return;
  if (gives) site.out.v[0] = site.target(0);
  if (site.operands() > at + 1) site.out.b = site.source(at + 1, Type::kU32);
  const bool needs = !arrives && site.out.option != kInvalidate;
  if ((needs || site.out.option == kArriveExpecting) && site.operands() != at + 2)
    return site.refuse("a number is missing");
  site.out.run = change;
  site.address(site.operand(at), space);
}

// Nothing is left to be copied when it runs, so the arrival that it adds, unless it is told not to,
// is there at once.
void nothing_pending(Warp&, const Instruction&, Mask) {}

}  // namespace

void complete_bytes(char* at, std::uint64_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  State state = State::of(word);
  state.bytes -= bytes;
  state.complete();
  word = state.word();
  std::memcpy(at, &word, sizeof word);
}

void decode_copy_arrival(Site& site) {
  const bool counts = site.modifiers.take("noinc");
  const Space space = site.modifiers.take_space();
  if (site.modifiers.take_type() != Type::kB64 || !site.expect(1))
    return site.refuse("it is not known in this form");
  site.out.effect = kOrders;
  site.out.run = counts ? change : nothing_pending;
  site.out.option = kArrive;
  site.address(site.operand(0), space);
}

namespace {

constexpr Opcode kOpcodes[] = {{"mbarrier", decode_mbarrier}};

}  // namespace

std::span<const Opcode> mbarrier_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
