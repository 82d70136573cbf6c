// SPDX-License-Identifier: Apache-2.0
// Tests that no function of api/multicast.h reaches a driver unless the caller asked for it: on a
// real fabric it may disturb other users.
#include "fuzz/generate/generator.h"
#include "fuzz/search/testing_machine.h"

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

// A driver that notices each call that the gate must stop.
Driver trapped() {
  Driver driver = load_driver(CUVMM_EMULATOR).driver;
#define CUVMM_ENTRY(Name, area, ...) set_trap<calls::Name>(driver);
#define CUVMM_BASE(Name, ...) set_trap<calls::Name>(driver);
#include "api/entry_points.def"
  return driver;
}

// A driver with every such call; the emulator's own answers do not matter here.
Profile newest() { return load_profile("documented").profile; }

Ops every_multicast_call() {
  Ops ops;
  for (std::size_t code = 0; code < kCodes; ++code) {
    Op op;
    op.code = static_cast<Code>(code);
    op.size = op.extra = 1;
    // Without NULL, the call would be left out, because it names no memory.
    if (op.code == Code::kFabricCopy) op.faults = kNullIn;
    canonicalise(op);
    if (is_multicast(op.code)) ops.push_back(op);
  }
  return ops;
}

// The default, which the recorder and all other tools use.
TEST(MulticastGate, NothingIsCalledByDefault) {
  emulated();  // sets the environment
  const Ops ops = every_multicast_call();
  ASSERT_EQ(ops.size(), 19u);
  reached = false;
  Differential machine(trapped(), newest(), {});
  for (const Result& result : {machine.run(ops), run_stacked(machine, ops)}) {
    for (const Step& step : result.steps) EXPECT_FALSE(step.answer.run);
  }
  EXPECT_FALSE(reached);
  // No call can get round the gate, because the machine's table does not have the functions.
  int marked = 0;
  for (const SymbolInfo& info : symbols()) {
    if (!can_multicast(info.entry)) continue;
    ++marked;
    EXPECT_EQ(machine.machine().driver().get(info.symbol), nullptr) << info.name;
  }
  EXPECT_GE(marked, 22);
  EXPECT_EQ(machine.machine().driver()(calls::MulticastCreate{}), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(machine.machine().driver()(calls::LogicalEndpointIdReserve{}), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(machine.machine().driver()(calls::FabricCpyBatchAsync{}), CUDA_ERROR_NOT_FOUND);
  EXPECT_FALSE(reached);
}

TEST(MulticastGate, TheTrapsWouldNoticeEach) {
  for (const Op& op : every_multicast_call()) {
    reached = false;
    Differential machine(trapped(), newest(), {.multicast = true, .charge = false});
    machine.run({op});
    EXPECT_TRUE(reached) << function_of(op.code);
  }
}

// Calls that an older driver lacks do not reach it either, whoever makes them.
TEST(MulticastGate, AnOlderDriverIsAskedForNoEndpoint) {
  reached = false;
  const Profile older = load_profile(builtin_profiles().front()).profile;
  ASSERT_LT(older.cuda_version, kEndpointsSince);
  Differential machine(trapped(), older, {.multicast = true, .charge = false});
  for (const Op& op : every_multicast_call()) {
    if (is_endpoint(op.code)) machine.run({op});
  }
  EXPECT_FALSE(reached);
}

TEST(MulticastGate, NoStyleHasThemByDefault) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    // Endpoints are multicast, so a scope with endpoints alone does not have them.
    const Scope scope{.devices = 3, .endpoints = true};
    Ops ops = generate(random, swarm(random, scope));
    mutate(ops, random, scope, 60);
    for (const Op& op : ops) EXPECT_FALSE(is_multicast(op.code));
  }
}

}  // namespace
}  // namespace cuvmm::fuzz
