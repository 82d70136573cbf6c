// SPDX-License-Identifier: Apache-2.0
// The pools of this program on a device that has no memory left: how much of each one is idle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "rulebook/model/model.h"
#include "shim/history/causes.h"
#include "shim/refusals/refusal.h"

namespace cuvmm::shim {

struct PoolFacts {
  CUmemoryPool pool = nullptr;
  Origin made;  ///< call 0: the device's default pool
  cuuint64_t reserved = 0, used = 0, threshold = 0;

  bool is_default() const { return made.call == 0; }
  /// Bytes that the pool keeps although nothing of them is allocated.
  std::uint64_t idle() const { return reserved > used ? reserved - used : 0; }
};

/// The pools on the device that cuvmm saw the program create, and that live; at most
/// kMostPoolsAsked. Only their handles and makers are set.
std::vector<PoolFacts> created_pools(const Model& model, int device);
inline constexpr std::size_t kMostPoolsAsked = 16;
/// Asks the driver for the pool's numbers; false if it does not answer.
bool ask_pool(const Driver& driver, PoolFacts& pool);
/// ask_pool() for the default pool of the device.
bool ask_default_pool(const Driver& driver, int device, PoolFacts& pool);

/// The bytes that the pool has in use besides the memory whose place is known.
std::uint64_t unplaced_in(const Model& model, int device, const PoolFacts& pool);
/// Notes memory of the pool that the program freed and the driver still has in use, because the
/// free waits for its turn on a stream.
void note_queued_frees(const Model& model, const Causes& causes, const PoolFacts& pool,
                       std::vector<Refusal::Aside>& asides);
/// Notes the idle memory of a pool, and what helps.
void note_idle(const Causes& causes, const PoolFacts& pool, std::vector<Refusal::Aside>& asides);
/// Notes that the last trim came before the last cuMemFreeAsync had its turn, if it did.
void note_early_trim(const Causes& causes, std::vector<Refusal::Aside>& asides);

}  // namespace cuvmm::shim
