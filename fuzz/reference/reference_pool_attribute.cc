// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of queries and settings of a pool: the rules of
// rulebook/rules/pool_attribute.def, line by line.
#include <algorithm>
#include <cstring>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

// CUmemPool_attribute by its numbers.
enum : int { kThreshold = 4, kReservedHigh = 6, kUsedNow = 7, kUsedHigh = 8 };

bool is_mark(int attribute) { return attribute == kReservedHigh || attribute == kUsedHigh; }
bool is_settable(int attribute) {
  return (attribute >= 1 && attribute <= kThreshold) || is_mark(attribute);
}
// For the first eight; the size of the others is not used.
bool is_int(int attribute) { return attribute < kThreshold; }

std::uint64_t value_of(int attribute, const void* from) {
  std::uint64_t bytes = 0;
  int one = 0;
  if (!is_int(attribute)) {
    std::memcpy(&bytes, from, sizeof bytes);
    return bytes;
  }
  std::memcpy(&one, from, sizeof one);
  return one != 0;
}

std::uint64_t number_of(CUmemoryPool pool) { return reinterpret_cast<std::uint64_t>(pool); }

}  // namespace

bool Reference::has_attribute(int attribute) const {
  const int newest = machine_.cuda_version >= 13040 ? 15 : machine_.cuda_version >= 13020 ? 14 : 8;
  return attribute >= 1 && attribute <= newest;
}

bool Reference::was_imported(CUmemoryPool pool) const {
  const int index = pool_state_.find(number_of(pool));
  return index >= 0 && pool_state_.pools[static_cast<std::size_t>(index)].source >= 0;
}

Judgement Reference::judge(const calls::MemPoolTrimTo& call, Actor) const {
  Judgement out;
  judge_pool(out, call.pool, Rule::kPoolTrimPoolValid, Rule::kPoolTrimPoolAlive);
  if (was_imported(call.pool)) out.add(Rule::kPoolTrimImported);
  return out;
}

Judgement Reference::judge(const calls::MemPoolGetAttribute& call, Actor) const {
  Judgement out;
  judge_pool(out, call.pool, Rule::kPoolGetPoolValid, Rule::kPoolGetPoolAlive);
  if (was_imported(call.pool)) out.add(Rule::kPoolGetImported);
  if (!has_attribute(static_cast<int>(call.attr))) out.add(Rule::kPoolGetAttribute);
  if (!call.value) out.add(Rule::kPoolGetValue);
  return out;
}

Judgement Reference::judge(const calls::MemPoolSetAttribute& call, Actor) const {
  Judgement out;
  const int attribute = static_cast<int>(call.attr);
  judge_pool(out, call.pool, Rule::kPoolPutPoolValid, Rule::kPoolPutPoolAlive);
  if (was_imported(call.pool)) out.add(Rule::kPoolPutImported);
  if (!has_attribute(attribute)) out.add(Rule::kPoolPutAttribute);
  if (!is_settable(attribute)) out.add(Rule::kPoolPutWritable);
  if (!call.value) {
    out.add(Rule::kPoolPutValue);
  } else if (is_mark(attribute) && value_of(attribute, call.value) != 0) {
    out.add(Rule::kPoolPutHigh);
  }
  return out;
}

const char* Reference::accept(const calls::MemPoolSetAttribute& call) {
  const int index = pool_state_.find(number_of(call.pool));
  const int attribute = static_cast<int>(call.attr);
  if (index < 0 || attribute < 1 || attribute > kThreshold) return nullptr;
  auto& pool = pool_state_.pools[static_cast<std::size_t>(index)];
  pool.set = true;
  // A value with its highest bit set is not compared with later queries.
  pool.values[static_cast<std::size_t>(attribute - 1)] =
      static_cast<std::int64_t>(value_of(attribute, call.value));
  return nullptr;
}

const char* Reference::accept(const calls::MemPoolGetAttribute& call) {
  const int index = pool_state_.find(number_of(call.pool));
  const int attribute = static_cast<int>(call.attr);
  if (index < 0 || attribute < 1 || attribute > kUsedHigh) return nullptr;
  const auto& pool = pool_state_.pools[static_cast<std::size_t>(index)];
  const std::uint64_t value = value_of(attribute, call.value);
  if (attribute <= kThreshold) {
    const std::int64_t values = pool.values[static_cast<std::size_t>(attribute - 1)];
    const bool as_set = values < 0 || static_cast<std::uint64_t>(values) == value;
    return as_set ? nullptr : "the attribute is not what was set";
  }
  if (pool.source >= 0) return nullptr;  // no document says the values of an import
  std::uint64_t used = 0;
  bool otherwise = false;  // cuMemFree freed memory, which drivers go on counting as used
  for (const PlainMemory& memory : plain_.all()) {
    if (memory.kind != PlainMemory::Kind::kPool || memory.owner != index) continue;
    if (memory.live) used += memory.size;
    otherwise = otherwise || (!memory.live && !memory.by_pool);
  }
  if (value < used) return "the pool holds less than was allocated";
  const bool all = attribute == kUsedNow && used == 0 && !pool.is_default && !otherwise;
  return all && value != 0 ? "the pool holds what was freed" : nullptr;
}

std::vector<std::pair<std::uint64_t, int>> Reference::attributes_of_defaults() const {
  std::vector<std::pair<std::uint64_t, int>> out;
  for (const auto& pool : pool_state_.pools) {
    for (int attribute = 1; pool.is_default && pool.set && attribute <= kThreshold; ++attribute) {
      out.emplace_back(pool.value, attribute);
    }
  }
  return out;
}

}  // namespace cuvmm::fuzz
