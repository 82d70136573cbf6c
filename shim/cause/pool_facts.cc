// SPDX-License-Identifier: Apache-2.0
#include "shim/cause/pool_facts.h"

#include <algorithm>

#include "api/location.h"
#include "api/words.h"

namespace cuvmm::shim {

namespace {

std::uint64_t number_of(const PoolFacts& pool) {
  return reinterpret_cast<std::uintptr_t>(pool.pool);
}

std::string name_of(const PoolFacts& pool) {
  return pool.is_default() ? std::string("the default pool") : "pool " + hex_text(number_of(pool));
}

std::string threshold_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMoreThanAnyDevice = std::uint64_t{1} << 50;
  return bytes < kMoreThanAnyDevice ? rough_size_text(bytes)
                                    : std::string("more than the device has");
}

}  // namespace

std::vector<PoolFacts> created_pools(const Model& model, int device) {
  std::vector<PoolFacts> found;
  for (const auto& [handle, pool] : model.pools().pools()) {
    const bool created = !pool.is_default && !pool.foreign && !pool.imported && !pool.managed;
    if (!created || pool.made.call == 0 || device_of(pool.location) != device) continue;
    PoolFacts one;
    one.pool = reinterpret_cast<CUmemoryPool>(handle);
    one.made = pool.made;
    found.push_back(one);
  }
  std::ranges::sort(found, {}, [](const PoolFacts& one) { return one.made.call; });
  if (found.size() > kMostPoolsAsked) found.resize(kMostPoolsAsked);
  return found;
}

bool ask_pool(const Driver& driver, PoolFacts& pool) {
  const auto ask = [&](CUmemPool_attribute which, cuuint64_t& value) {
    return driver(calls::MemPoolGetAttribute{pool.pool, which, &value}) == CUDA_SUCCESS;
  };
  return ask(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, pool.reserved) &&
         ask(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, pool.used) &&
         ask(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, pool.threshold);
}

bool ask_default_pool(const Driver& driver, int device, PoolFacts& pool) {
  return driver(calls::DeviceGetDefaultMemPool{&pool.pool, device}) == CUDA_SUCCESS &&
         ask_pool(driver, pool);
}

std::uint64_t unplaced_in(const Model& model, int device, const PoolFacts& pool) {
  std::uint64_t placed = 0;
  for (const auto& [base, memory] : model.pools().memory()) {
    const bool of_it = memory.pool == number_of(pool);
    if (of_it && device_of(memory.location) == device) placed += memory.size;
  }
  return pool.used > placed ? pool.used - placed : 0;
}

void note_early_trim(const Causes& causes, std::vector<Refusal::Aside>& asides) {
  const Origin &trim = causes.last_trim(), &freed = causes.last_free().by;
  if (trim.call <= freed.call) return;
  asides.push_back({"call " + std::to_string(trim.call) +
                        " trimmed a pool behind the cuMemFreeAsync of call " +
                        std::to_string(freed.call) +
                        ", which gives nothing back before the free has had its turn: wait for "
                        "the stream in between",
                    trim.stack});
}

void note_queued_frees(const Model& model, const Causes& causes, const PoolFacts& pool,
                       std::vector<Refusal::Aside>& asides) {
  std::uint64_t live = 0;
  for (const auto& [base, memory] : model.pools().memory()) {
    if (memory.pool == number_of(pool)) live += memory.size;
  }
  constexpr std::uint64_t kWorthSaying = 1u << 20;
  const Causes::QueuedFree& last = causes.last_free();
  if (last.by.call == 0 || pool.used < live + kWorthSaying) return;
  std::string text = rough_size_text(pool.used - live) + " of " + name_of(pool) +
                     " are freed by the program, but not yet by the device: cuMemFreeAsync waits "
                     "for its turn on the stream, and cuMemPoolTrimTo gives back nothing before. "
                     "The program's last cuMemFreeAsync is call " +
                     std::to_string(last.by.call) + " on stream " + hex_text(last.stream);
  asides.push_back({std::move(text), last.by.stack});
}

void note_idle(const Causes& causes, const PoolFacts& pool, std::vector<Refusal::Aside>& asides) {
  if (pool.idle() == 0) return;
  const Origin& set = causes.threshold_of(pool.pool);
  if (pool.is_default()) {
    if (set.call == 0) return;
    asides.push_back({"call " + std::to_string(set.call) +
                          " set the release threshold of the default pool: below it, the pool "
                          "keeps freed memory",
                      set.stack});
    return;
  }
  std::string text = "pool " + hex_text(number_of(pool)) + ", made by call " +
                     std::to_string(pool.made.call) + ", keeps " + rough_size_text(pool.idle()) +
                     " of which nothing is allocated";
  if (pool.threshold == 0) {
    text +=
        "; its release threshold is 0, so it gives them back when the program next waits for a "
        "stream, an event or the context, or by cuMemPoolTrimTo(pool, 0)";
  } else {
    text += ", because its release threshold is " + threshold_text(pool.threshold);
    if (set.call != 0) text += ", set by call " + std::to_string(set.call);
    text += ": below it, a pool keeps freed memory. cuMemPoolTrimTo(pool, 0) gives it back";
  }
  asides.push_back({std::move(text), set.call != 0 ? set.stack : pool.made.stack});
}

}  // namespace cuvmm::shim
