// SPDX-License-Identifier: Apache-2.0
// The default and the current pools: of a device, and since CUDA 13.0 of any place and type of
// memory. The answers about managed memory are the documented ones; none was measured.
#include "api/location.h"
#include "api/newer/pools.h"
#include "emulator/core/quirks.h"
#include "emulator/pool/pool_entry.h"

namespace cuvmm::emulator {

namespace {

// The answer for a place that has no pools. `pool`: the pool, or the pointer to receive it;
// `was_one`: that pointer is not null, or the handle is or was a pool's.
template <class CallStruct>
std::optional<CUresult> no_place(const Emulator& e, const CallStruct& call, const void* pool,
                                 bool was_one) {
  if (!call.location || call.type == kManagedMemory) return std::nullopt;
  const int type = static_cast<int>(call.location->type);
  const bool current_node = type == kLocationHostNumaCurrent;
  if (const auto odd = answer(e, Quirk::kPoolCurrentNode, was_one && current_node)) return odd;
  return answer(e, Quirk::kPoolInvisible, pool && type > kLocationHostNumaCurrent);
}

CUresult hand_out(Emulator& e, CUmemoryPool* out, const CUmemLocation* location,
                  CUmemAllocationType type,
                  Pool* (Pools::*pool_at)(const CUmemLocation&, CUmemAllocationType)) {
  if (!out || !location) return CUDA_ERROR_INVALID_VALUE;
  const Pool* pool = (e.pools.*pool_at)(settled(*location, e.model.platform()), type);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  *out = Pools::handle_of(*pool);
  return CUDA_SUCCESS;
}

}  // namespace

std::optional<CUresult> quirk(const Emulator& e, const calls::MemPoolCreate& call, const Facts&) {
  const unsigned types = call.poolProps ? static_cast<unsigned>(call.poolProps->handleTypes) : 0;
  return answer(e, Quirk::kPoolNoDescriptor,
                call.pool && (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0);
}
std::optional<CUresult> quirk(const Emulator& e, const calls::MemGetDefaultMemPool& call,
                              const Facts&) {
  return no_place(e, call, call.pool_out, call.pool_out != nullptr);
}
std::optional<CUresult> quirk(const Emulator& e, const calls::MemGetMemPool& call, const Facts&) {
  return no_place(e, call, call.pool, call.pool != nullptr);
}
std::optional<CUresult> quirk(const Emulator& e, const calls::MemSetMemPool& call, const Facts&) {
  return no_place(e, call, call.pool, e.pools.find(call.pool) || e.pools.destroyed(call.pool));
}

CUresult perform(Emulator& e, const calls::DeviceGetDefaultMemPool& call, const Facts&,
                 const Retired&) {
  if (!call.pool_out || !e.valid_device(call.dev)) return CUDA_ERROR_INVALID_VALUE;
  *call.pool_out = Pools::handle_of(e.pools.default_of(call.dev));
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::DeviceGetMemPool& call, Facts& facts) {
  if (!e.valid_device(call.dev)) return;
  const bool is_default = e.pools.current_of(call.dev).is_default();
  facts.pool.is_default = is_default ? Facts::Answer::kYes : Facts::Answer::kNo;
}

void add_facts(const Emulator& e, const calls::MemGetMemPool& call, Facts& facts) {
  if (!call.location) return;
  const CUmemLocation place = settled(*call.location, e.model.platform());
  const bool is_default = e.pools.is_at_default(place, call.type);
  facts.pool.is_default = is_default ? Facts::Answer::kYes : Facts::Answer::kNo;
}

CUresult perform(Emulator& e, const calls::DeviceGetMemPool& call, const Facts&, const Retired&) {
  if (!call.pool || !e.valid_device(call.dev)) return CUDA_ERROR_INVALID_VALUE;
  *call.pool = Pools::handle_of(e.pools.current_of(call.dev));
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::MemGetDefaultMemPool& call, const Facts&,
                 const Retired&) {
  return hand_out(e, call.pool_out, call.location, call.type, &Pools::default_at);
}

CUresult perform(Emulator& e, const calls::MemGetMemPool& call, const Facts&, const Retired&) {
  return hand_out(e, call.pool, call.location, call.type, &Pools::current_at);
}

void add_facts(const Emulator& e, const calls::MemSetMemPool& call, Facts& facts) {
  find_pool(e, call.pool, facts.pool);
}

CUresult perform(Emulator& e, const calls::MemSetMemPool& call, const Facts&, const Retired&) {
  const Pool* pool = e.pools.find(call.pool);
  if (!call.location || !call.pool) return CUDA_ERROR_INVALID_VALUE;
  const CUmemLocation place = settled(*call.location, e.model.platform());
  // The model knows the locations of created pools, and of those default pools that it saw. A
  // destroyed pool must have lain at the place (recorded).
  const CUmemAllocationProp* prop = pool ? &pool->prop() : e.pools.destroyed(call.pool);
  const bool fits = prop && prop->type == call.type && e.pools.default_at(place, call.type) &&
                    same_place(prop->location, place);
  if (prop && !fits) return CUDA_ERROR_INVALID_VALUE;
  if (pool) e.pools.set_current_at(place, *pool);  // does nothing for a pool that was destroyed
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
