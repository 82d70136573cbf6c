// SPDX-License-Identifier: Apache-2.0
// Makes as many calls as an hour of training: blocks that stay, blocks that live for one step, and
// now and then a block that is never freed. Measures no time.
#include "bench/measure/long_run.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "bench/measure/machine.h"

namespace cuvmm::bench {

namespace {

constexpr std::size_t kSlots = 8192, kWeights = 1024;
constexpr std::size_t kForgetEach = 64;  // steps

class Training {
 public:
  explicit Training(const Driver& driver) : driver_(driver), prop_(device_memory()) {
    call(calls::MemAddressReserve{.ptr = &base_, .size = kSlots * kGranule});
    while (held_.size() < kWeights) allocate();
  }
  void step(std::uint64_t number) {
    const std::size_t before = held_.size();
    const std::size_t room = kSlots - before;
    for (std::size_t more = 50 + random() % 100; more > 0 && held_.size() < before + room; --more) {
      allocate();
    }
    const bool forgets = number % kForgetEach == 0 && before < kSlots / 2;
    while (held_.size() > before + (forgets ? 1 : 0)) free();
  }
  std::uint64_t made() const { return made_; }

 private:
  template <class CallStruct>
  void call(const CallStruct& one) {
    must(driver_(one), CallStruct::kName);
    ++made_;
  }
  CUdeviceptr next() const { return base_ + held_.size() * kGranule; }
  void allocate() {
    const CUmemAccessDesc access{prop_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle = 0;
    call(calls::MemCreate{.handle = &handle, .size = kGranule, .prop = &prop_});
    call(calls::MemMap{.ptr = next(), .size = kGranule, .handle = handle});
    call(calls::MemSetAccess{.ptr = next(), .size = kGranule, .desc = &access, .count = 1});
    held_.push_back(handle);
  }
  void free() {
    const CUmemGenericAllocationHandle handle = held_.back();
    held_.pop_back();
    call(calls::MemUnmap{.ptr = next(), .size = kGranule});
    call(calls::MemRelease{.handle = handle});
  }
  std::uint64_t random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }

  const Driver& driver_;
  const CUmemAllocationProp prop_;
  CUdeviceptr base_ = 0;
  std::vector<CUmemGenericAllocationHandle> held_;
  std::uint64_t made_ = 0, state_ = 1;
};

}  // namespace

void make_long_run(const Variant& variant, std::uint64_t calls) {
  Training training(variant.driver);
  for (std::uint64_t step = 1; training.made() < calls; ++step) training.step(step);
  std::printf("calls: %llu\n", static_cast<unsigned long long>(training.made()));
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM") || line.starts_with("RssAnon") || line.starts_with("RssFile") ||
        line.starts_with("RssShmem")) {
      std::printf("%s\n", line.c_str());
    }
  }
}

}  // namespace cuvmm::bench
