// SPDX-License-Identifier: Apache-2.0
// Contexts that another library leaves behind. A process has one hostile driver, so each program
// here runs in a child, which alone loads the emulator.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

constexpr int kSeeds = 20, kRounds = 64;

/// A program's calls, all of which must succeed, and a text of the values that they gave.
struct Program {
  std::string seen;
  CUcontext mine = nullptr, other = nullptr;  ///< the primary contexts of devices 0 and 1

  template <class CallStruct>
  void must(const CallStruct& call) {
    if (const CUresult result = driver()(call); result != CUDA_SUCCESS) {
      seen += std::string(CallStruct::kName) + " " + std::to_string(result) + "\n";
    }
  }
  CUcontext current() {
    CUcontext now = nullptr;
    must(calls::CtxGetCurrent{&now});
    return now;
  }
  CUdeviceptr alloc() {
    CUdeviceptr memory = 0;
    must(calls::MemAlloc{&memory, 4096});
    return memory;
  }
  void say_device(CUdeviceptr memory) {
    int ordinal = -1;
    must(calls::PointerGetAttribute{&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory});
    seen += static_cast<char>('0' + ordinal);
  }
};

/// The text of `run` in a process with this CUVMM_HOSTILE ("": not hostile).
std::string seen_in_child(const std::string& hostile, void (*run)(Program&)) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("CUVMM_HOSTILE", hostile.c_str(), 1);
    setenv("CUVMM_DEVICES", "2", 1);
    Program program;
    program.must(calls::Init{0});
    program.must(calls::DevicePrimaryCtxRetain{&program.mine, 0});
    program.must(calls::DevicePrimaryCtxRetain{&program.other, 1});
    run(program);
    const std::string& seen = program.seen;
    const bool written =
        write(ends[1], seen.data(), seen.size()) == static_cast<ssize_t>(seen.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string all;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(all, "");
  return all;
}

std::string left(int seed) { return std::to_string(seed) + ":left-contexts"; }

// --- Careful programs

void sets_before_each_call(Program& p) {
  const auto mine = [&] { p.must(calls::CtxSetCurrent{p.mine}); };
  for (int i = 0; i < kRounds; ++i) {
    mine();
    const CUdeviceptr memory = p.alloc();
    p.say_device(memory);  // needs no current context
    mine();
    CUstream stream = nullptr;
    p.must(calls::StreamCreate{&stream, 0});
    mine();
    p.must(calls::MemsetD8Async{memory, 7, 4096, stream});
    p.must(calls::StreamDestroy{stream});
    mine();
    p.must(calls::MemFree{memory});
  }
}

void pushes_and_pops(Program& p) {
  for (int i = 0; i < kRounds; ++i) {
    p.must(calls::CtxPushCurrent{p.mine});
    const CUdeviceptr first = p.alloc(), second = p.alloc();
    p.say_device(first);
    p.say_device(second);
    p.must(calls::CtxSetCurrent{p.mine});  // the context that the pop is for is still current
    p.must(calls::MemFree{p.alloc()});
    p.must(calls::MemFree{first});
    p.must(calls::MemFree{second});
    CUcontext popped = nullptr;
    p.must(calls::CtxPopCurrent{&popped});
    p.seen += popped == p.mine ? '=' : '!';
    p.must(calls::CtxSetCurrent{i % 2 ? p.other : nullptr});
    CUdeviceptr range = 0;  // takes addresses, and needs no context
    p.must(calls::MemAddressReserve{&range, kGranule, 0, 0, 0});
    p.must(calls::MemAddressFree{range, kGranule});
  }
}

TEST(LeftContexts, CarefulProgramsDoTheSame) {
  for (void (*const careful)(Program&) : {sets_before_each_call, pushes_and_pops}) {
    const std::string plain = seen_in_child("", careful);
    EXPECT_EQ(plain.find_first_not_of("0="), std::string::npos) << plain;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      EXPECT_EQ(seen_in_child(left(seed), careful), plain) << seed;
    }
  }
}

// --- Careless ones

// Sets its context once, and expects it to be current at each later call.
void sets_once(Program& p) {
  p.must(calls::CtxSetCurrent{p.mine});
  for (int i = 0; i < kRounds; ++i) p.say_device(p.alloc());
}

// Pops whatever context is on top.
void pops_without_a_push(Program& p) {
  for (int i = 0; i < kRounds; ++i) {
    p.must(calls::CtxSetCurrent{p.mine});
    p.alloc();
    CUcontext popped = nullptr;
    p.must(calls::CtxPopCurrent{&popped});
    p.seen += popped == p.mine ? '=' : '!';
  }
}

TEST(LeftContexts, CarelessProgramsDoNot) {
  for (void (*const careless)(Program&) : {sets_once, pops_without_a_push}) {
    const std::string plain = seen_in_child("", careless);
    EXPECT_EQ(plain.find_first_not_of("0="), std::string::npos) << plain;
    int unlike = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const std::string seen = seen_in_child(left(seed), careless);
      EXPECT_EQ(seen, seen_in_child(left(seed), careless)) << seed;
      unlike += seen != plain;
    }
    // A seed may never leave a context of another device than the program's.
    EXPECT_GE(unlike, kSeeds - 2);
  }
}

// --- What is left

void says_what_is_current(Program& p) {
  for (int i = 0; i < kRounds; ++i) {
    p.must(calls::CtxSetCurrent{p.mine});
    p.must(calls::MemFree{p.alloc()});
    CUdevice device = -1;
    p.must(calls::CtxGetDevice{&device});
    auto* const now = p.current();
    p.seen += now == p.mine ? '=' : now == p.other ? 'o' : static_cast<char>('0' + device);
    p.must(calls::CtxSynchronize{});
  }
}

TEST(LeftContexts, TheyArePrimaryOnesOfOtherDevicesAndNobodysOwn) {
  std::string all;
  for (int seed = 1; seed <= kSeeds; ++seed) all += seen_in_child(left(seed), says_what_is_current);
  EXPECT_EQ(all.find_first_not_of("=o0"), std::string::npos) << all;
  EXPECT_NE(all.find('o'), std::string::npos);
  EXPECT_NE(all.find('0'), std::string::npos);
  const auto others = all.size() - static_cast<std::size_t>(std::ranges::count(all, '='));
  EXPECT_GT(others, all.size() / 12);
  EXPECT_LT(others, all.size() / 5);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
