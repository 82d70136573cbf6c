// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "bench/measure/throughput.h"
#include "bench/measure/time_each.h"

namespace cuvmm::bench {

namespace {

constexpr std::size_t kBytes = 64;

// A reservation of one granule, for the life of this object.
class OneReservation {
 public:
  explicit OneReservation(const Driver& driver) : driver_(driver) {
    must(driver_(calls::MemAddressReserve{.ptr = &base_, .size = kGranule}), "reserve");
  }
  ~OneReservation() {
    must(driver_(calls::MemAddressFree{.ptr = base_, .size = kGranule}), "free");
  }
  OneReservation(const OneReservation&) = delete;
  OneReservation& operator=(const OneReservation&) = delete;
  CUdeviceptr base() const { return base_; }

 private:
  const Driver& driver_;
  CUdeviceptr base_ = 0;
};

}  // namespace

void fill_plain_memory(const Variant& variant, bool between, int times) {
  const Driver& driver = variant.driver;
  const LiveMappings mapped(driver, 1);
  mapped.give_access();
  CUdeviceptr ptr = 0;
  must(driver(calls::MemAlloc{.dptr = &ptr, .bytesize = kGranule}), "cuMemAlloc");
  std::optional<OneReservation> behind;
  if (between) behind.emplace(driver);
  const bool is_between = behind && std::min(mapped.base(), behind->base()) < ptr &&
                          ptr < std::max(mapped.base(), behind->base());
  if (between && !is_between) must(CUDA_ERROR_UNKNOWN, "a reservation on each side");
  // A fill of mapped memory, as in a program that uses what it maps.
  must(driver(calls::MemsetD8Async{mapped.base(), 1, kBytes, nullptr}), "cuMemsetD8Async");
  for (int i = 0; i < times; ++i) {
    must(driver(calls::MemsetD16Async{ptr, 1, kBytes / 2, nullptr}), "cuMemsetD16Async");
  }
  must(driver(calls::MemFree{ptr}), "cuMemFree");
}

void measure_copies(const Variants& variants, const std::string& where,
                    const std::vector<int>& threads, double seconds, Results& results) {
  const Driver& maker = variants.front().driver;
  CUdeviceptr ptr = 0;
  must(maker(calls::MemAlloc{.dptr = &ptr, .bytesize = kGranule}), "cuMemAlloc");
  char host[kBytes] = {};
  time_each(variants, seconds, 1, where + "/cuMemcpyHtoD/", results, [&](std::size_t v) {
    must(variants[v].driver(calls::MemcpyHtoD{ptr, host, kBytes}), "cuMemcpyHtoD");
  });
  time_each(variants, seconds, 1, where + "/cuMemsetD8Async/", results, [&](std::size_t v) {
    must(variants[v].driver(calls::MemsetD8Async{ptr, 1, kBytes, nullptr}), "cuMemsetD8Async");
  });
  must(maker(calls::CtxSynchronize{}), "cuCtxSynchronize");
  for (const int count : threads) {
    const auto measured =
        throughputs(variants, count, seconds, [&](const Variant& variant, int thread) {
          char mine[kBytes] = {};
          constexpr std::uint64_t kTogether = 16;
          for (std::uint64_t i = 0; i < kTogether; ++i) {
            must(variant.driver(calls::MemcpyHtoD{ptr + static_cast<std::size_t>(thread) * kBytes,
                                                  mine, kBytes}),
                 "cuMemcpyHtoD");
          }
          return kTogether;
        });
    for (std::size_t v = 0; v < variants.size(); ++v) {
      results.add({where + "/threads:" + std::to_string(count) + "/" + variants[v].name, "calls/s",
                   measured.medians[v], 0, measured.turns});
    }
  }
  must(maker(calls::MemFree{ptr}), "cuMemFree");
}

void measure_other(const Variants& variants, double seconds, Results& results) {
  using GetCurrent = CUresult(CUDAAPI*)(CUcontext*);
  const auto current = functions<GetCurrent>(variants, "cuCtxGetCurrent");
  time_each(variants, seconds, 100, "other/cuCtxGetCurrent/", results, [&](std::size_t v) {
    CUcontext context = nullptr;
    must(current[v](&context), "cuCtxGetCurrent");
  });
}

}  // namespace cuvmm::bench
