// SPDX-License-Identifier: Apache-2.0
// Nothing of api/multicast.h reaches a driver unless it was asked for: on a real fabric it may
// disturb others.
#include "fuzz/generate/generator.h"
#include "fuzz/machine/machines.h"

namespace cuvmm::fuzz {
namespace {

bool reached = false;

template <class CallStruct, class Function>
struct Trap;
template <class CallStruct, class... Args>
struct Trap<CallStruct, CUresult(CUDAAPI*)(Args...)> {
  static CUresult CUDAAPI call(Args...) {
    reached = true;
    return CUDA_SUCCESS;
  }
};

template <class CallStruct>
void set_trap(Driver& driver) {
  if (!can_multicast_call<CallStruct>) return;
  for (const SymbolInfo& info : symbols()) {
    if (info.entry == CallStruct::kEntryPoint) {
      driver.set(info.symbol, reinterpret_cast<Driver::AnyFunction>(
                                  &Trap<CallStruct, typename CallStruct::Function>::call));
    }
  }
}

// A driver that notices each call that the gate must keep from it.
Driver trapped() {
  Driver driver = load_driver(CUVMM_EMULATOR).driver;
#define CUVMM_ENTRY(Name, area, ...) set_trap<calls::Name>(driver);
#define CUVMM_BASE(Name, ...) set_trap<calls::Name>(driver);
#include "api/entry_points.def"
  return driver;
}

Ops every_multicast_call() {
  Ops ops;
  for (std::size_t code = 0; code < kCodes; ++code) {
    Op op;
    op.code = static_cast<Code>(code);
    op.size = op.extra = 1;
    canonicalise(op);
    if (is_multicast(op.code)) ops.push_back(op);
  }
  return ops;
}

// What the recorder and everything else does that does not say otherwise.
TEST(MulticastGate, NothingIsCalledByDefault) {
  emulated();  // its environment
  const Ops ops = every_multicast_call();
  ASSERT_EQ(ops.size(), 6u);
  reached = false;
  Differential machine(trapped(), load_profile(builtin_profiles().front()).profile, {});
  for (const Result& result : {machine.run(ops), run_stacked(machine, ops, Failures::kEach)}) {
    for (const Step& step : result.steps) EXPECT_FALSE(step.answer.run);
  }
  EXPECT_FALSE(reached);
  // Nor is there a way round: the functions are gone from the machine's table.
  int marked = 0;
  for (const SymbolInfo& info : symbols()) {
    if (!can_multicast(info.entry)) continue;
    ++marked;
    EXPECT_EQ(machine.machine().driver().get(info.symbol), nullptr) << info.name;
  }
  EXPECT_GE(marked, 8);
  EXPECT_EQ(machine.machine().driver()(calls::MulticastCreate{}), CUDA_ERROR_NOT_FOUND);
  EXPECT_FALSE(reached);
}

TEST(MulticastGate, TheTrapsWouldNotice) {
  reached = false;
  Differential machine(trapped(), load_profile(builtin_profiles().front()).profile,
                       {.multicast = true, .charge = false});
  machine.run(every_multicast_call());
  EXPECT_TRUE(reached);
}

TEST(MulticastGate, NoStyleHasThemByDefault) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    Ops ops = generate(random, swarm(random, {.devices = 3}));
    mutate(ops, random, {.devices = 3}, 60);
    for (const Op& op : ops) EXPECT_FALSE(is_multicast(op.code));
  }
}

}  // namespace
}  // namespace cuvmm::fuzz
