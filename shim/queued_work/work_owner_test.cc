// SPDX-License-Identifier: Apache-2.0
// Drivers give addresses out again: uses for an address's former owner are no uses of its next
// owner.
#include <gmock/gmock.h>

#include <array>
#include <random>
#include <thread>

#include "shim/testing/work_world.h"

namespace cuvmm::shim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WorkOwner : public WorkWorld {
 protected:
  WorkOwner() {
    answers.non_blocking = {s_, t_};
    busy(s_);
    busy(t_);
    for (std::size_t i = 0; i < kPlaces; ++i) answers.places[place(i)] = CU_MEMORYTYPE_DEVICE;
  }
  static constexpr std::size_t kPlaces = 3;
  static CUdeviceptr place(std::size_t i) { return kBase + i * kGranule; }
  CUdeviceptr allocate(CUstream where, CUdeviceptr at) {
    answers.pool_memory = at;
    CUdeviceptr out = 0;
    EXPECT_EQ(run(calls::MemAllocAsync{&out, kGranule, where}), CUDA_SUCCESS);
    return out;
  }
  void fill(CUdeviceptr at, CUstream where) {
    EXPECT_EQ(run(calls::MemsetD8Async{at, 1, 16, where}), CUDA_SUCCESS);
  }
  void free_on(CUdeviceptr at, CUstream where) {
    EXPECT_EQ(run(calls::MemFreeAsync{at, where}), answers.free_async);
  }
  /// Ends a mapping and its reservation.
  void unmap_and_free(CUdeviceptr at, std::size_t size = kGranule) {
    unmap(at, size);
    EXPECT_EQ(run(calls::MemAddressFree{at, size}), CUDA_SUCCESS);
  }
};

TEST_F(WorkOwner, AMappingAtTheAddressOfFreedPoolMemoryStartsEmpty) {
  unordered = true;
  allocate(s_, kBase);
  fill(kBase, s_);
  free_on(kBase, s_);
  map(kBase, kGranule);
  unmap_and_free(kBase);
  EXPECT_THAT(findings(), IsEmpty());
  map(kBase, kGranule);
  fill(kBase, s_);
  unmap_and_free(kBase);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle")) << "but its own uses count";
}

TEST_F(WorkOwner, NoUseOfAFormerOwnerWentWellByLuck) {
  allocate(s_, kBase);
  fill(kBase, s_);
  free_on(kBase, s_);
  map(kBase, kGranule);
  idle(s_);
  unmap_and_free(kBase);
  EXPECT_EQ(session().work().counts().unawaited, 0u);
}

// Another thread's free gives the address to an allocation whose call began before that thread's
// last use.
TEST_F(WorkOwner, AnAllocationThatWaitsForTheFreeOfItsAddressStartsEmpty) {
  allocate(s_, kBase);
  answers.while_allocating = [this] {
    answers.while_allocating = nullptr;
    std::thread([this] {
      fill(kBase, s_);
      free_on(kBase, s_);
    }).join();
  };
  allocate(t_, kBase);
  free_on(kBase, t_);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(WorkOwner, AFreeThatTheDriverRefusesEndsNothing) {
  allocate(s_, kBase);
  fill(kBase, t_);
  answers.free_async = CUDA_ERROR_INVALID_VALUE;
  free_on(kBase, t_);
  answers.free_async = CUDA_SUCCESS;
  free_on(kBase, s_);
  EXPECT_THAT(findings(), testing::Contains("cuMemFreeAsync-ordered"));
}

TEST_F(WorkOwner, MemoryOfAPoolThatCuMemFreeEndsIsForgotten) {
  allocate(s_, kBase);
  fill(kBase, s_);
  EXPECT_EQ(run(calls::MemFree{kBase}), CUDA_SUCCESS);
  EXPECT_THAT(findings(), ElementsAre("cuMemFree-idle"));
  allocate(t_, kBase);
  free_on(kBase, t_);
  EXPECT_THAT(findings(), ElementsAre("cuMemFree-idle")) << "of the first owner alone";
}

TEST_F(WorkOwner, OfASpanEachMappingHasItsOwnUses) {
  map(kBase, kGranule);
  map(kBase + kGranule, kGranule);
  fill(kBase, s_);
  fill(kBase + kGranule, s_);
  run(calls::StreamSynchronize{s_});
  unmap_and_free(kBase);
  map(kBase, kGranule);
  fill(kBase + kGranule, t_);
  unmap(kBase, kGranule);
  EXPECT_THAT(findings(), IsEmpty());
  unmap(kBase + kGranule, kGranule);
  EXPECT_THAT(findings(), ElementsAre("cuMemUnmap-idle"));
}

/// Checks this for random owners: each owner has its own uses, and the address does not connect
/// them.
struct Owner {
  enum class Kind : std::uint8_t { kNone, kPool, kMapping } kind = Kind::kNone;
  std::vector<CUstream> unfinished;  ///< streams with uses for which the host has not waited

  bool used_beside(CUstream stream) const {
    return std::any_of(unfinished.begin(), unfinished.end(),
                       [&](CUstream each) { return each != stream; });
  }
};

class WorkOwnerProperty : public WorkOwner, public testing::WithParamInterface<unsigned> {
 protected:
  void begin(std::size_t i) {
    if (random_() % 2 == 0) {
      owners_[i] = {Owner::Kind::kPool, {}};
      // Allocated on either stream: the allocation itself is no use.
      allocate(random_() % 2 == 0 ? s_ : t_, place(i));
    } else {
      owners_[i] = {Owner::Kind::kMapping, {}};
      map(place(i), kGranule);
    }
  }
  void use(std::size_t i) {
    const CUstream where = random_() % 2 == 0 ? s_ : t_;
    fill(place(i), where);
    owners_[i].unfinished.push_back(where);
  }
  void wait() {
    const CUstream where = random_() % 2 == 0 ? s_ : t_;
    run(calls::StreamSynchronize{where});
    for (Owner& owner : owners_) std::erase(owner.unfinished, where);
  }
  void end(std::size_t i) {
    const std::size_t before = count_of("-ordered") + count_of("-idle");
    bool wrong = false;
    if (owners_[i].kind == Owner::Kind::kPool) {
      const CUstream where = random_() % 2 == 0 ? s_ : t_;
      wrong = owners_[i].used_beside(where);
      free_on(place(i), where);
    } else {
      wrong = !owners_[i].unfinished.empty();
      unmap_and_free(place(i));
    }
    owners_[i] = {};
    EXPECT_EQ(count_of("-ordered") + count_of("-idle") > before, wrong) << "step " << step_;
  }
  std::size_t count_of(const std::string& ending) const {
    const Rules rules = findings();
    return static_cast<std::size_t>(
        std::count_if(rules.begin(), rules.end(), [&](const std::string& rule) {
          return rule != "data-pool-ordered" && rule.ends_with(ending);
        }));
  }
  void step() {
    ++step_;
    const std::size_t i = random_() % kPlaces;
    const unsigned what = random_() % 8;
    if (owners_[i].kind == Owner::Kind::kNone) return begin(i);
    if (what < 4) return use(i);
    if (what < 5) return wait();
    end(i);
  }

  std::mt19937 random_{GetParam()};
  std::array<Owner, kPlaces> owners_;
  unsigned step_ = 0;
};

TEST_P(WorkOwnerProperty, OnlyUsesOfTheOwnerCount) {
  for (unsigned i = 0; i < 400; ++i) step();
}
INSTANTIATE_TEST_SUITE_P(Seeds, WorkOwnerProperty, testing::Range(1u, 21u));

}  // namespace
}  // namespace cuvmm::shim
