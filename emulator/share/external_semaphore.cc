// SPDX-License-Identifier: Apache-2.0
// cuImportExternalSemaphore, signals and waits: counters in a page that processes share.
#include <unistd.h>

#include <vector>

#include "emulator/base/system.h"
#include "emulator/machine/semaphore.h"
#include "emulator/machine/shareable.h"
#include "emulator/share/semaphore_work.h"
#include "emulator/share/share_entry.h"

namespace cuvmm::emulator {

namespace {

/// The kind of semaphore that a type of descriptor stands for.
std::optional<SemaphoreKind> kind_of(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
  if (!desc) return std::nullopt;
  if (desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD) return SemaphoreKind::kBinary;
  if (desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD) {
    return SemaphoreKind::kTimeline;
  }
  return std::nullopt;
}

/// A semaphore for a profile that accepts a descriptor of memory: a counter that no other process
/// has.
std::shared_ptr<Semaphore> private_semaphore(SemaphoreKind kind) {
  const int fd = create_semaphore(kind);
  auto semaphore = Semaphore::open(fd, kind);
  if (fd >= 0) sys_close(fd);
  return semaphore;
}

bool known_stream(const Emulator& e, CUstream stream) {
  return Streams::is_default(stream) || e.streams.find(stream);
}

/// The checks that signals and waits share: SUCCESS when the call can be performed.
template <class CallStruct>
CUresult prepare(const Emulator& e, const CallStruct& call, Fences& fences) {
  if (!known_stream(e, call.stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (call.numExtSems == 0) return CUDA_SUCCESS;
  if (!call.extSemArray || !call.paramsArray) return CUDA_ERROR_INVALID_HANDLE;
  const bool known = find_fences(e, call.extSemArray, call.paramsArray, call.numExtSems, fences);
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult signal_all(const Fences& fences) {
  for (const Fence& fence : fences) fence.semaphore->signal(fence.value);
  return CUDA_SUCCESS;
}

CUresult wait_for_all(Emulator& e, const Fences& fences, std::size_t& next) {
  while (next < fences.size() && fences[next].semaphore->try_wait(fences[next].value)) ++next;
  if (next == fences.size()) return CUDA_SUCCESS;
  e.queues.waits_for({.semaphore = true});
  return CUDA_ERROR_NOT_READY;
}

void add_facts(const Emulator& e, const calls::ImportExternalSemaphore& call, Facts& facts) {
  const auto kind = kind_of(call.semHandleDesc);
  if (!kind) return;
  const int fd = call.semHandleDesc->handle.fd;
  const bool valid = Semaphore::open(fd, *kind) != nullptr;
  facts.sharing.descriptor_valid = valid ? Facts::Answer::kYes : Facts::Answer::kNo;
  if (!valid && read_shareable(fd, e.device_count()))
    facts.sharing.descriptor_kind = Facts::Answer::kNo;
}

CUresult perform(Emulator& e, const calls::ImportExternalSemaphore& call, const Facts& facts,
                 const Retired&) {
  if (!call.extSem_out || !call.semHandleDesc) return CUDA_ERROR_INVALID_HANDLE;
  const auto kind = kind_of(call.semHandleDesc);
  if (!kind) return CUDA_ERROR_NOT_SUPPORTED;
  const int given = call.semHandleDesc->handle.fd;
  auto semaphore = facts.sharing.descriptor_kind == Facts::Answer::kNo
                       ? private_semaphore(*kind)
                       : Semaphore::open(given, *kind);
  if (!semaphore) return CUDA_ERROR_INVALID_HANDLE;
  CUexternalSemaphore handle = e.external.add(std::move(semaphore));
  sys_close(given);  // the descriptor belongs to the driver now, as with external memory
  *call.extSem_out = handle;
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::SignalExternalSemaphoresAsync& call, const Facts&,
                 const Retired&) {
  Fences all;
  const CUresult ready = prepare(e, call, all);
  if (ready != CUDA_SUCCESS) return ready;
  return submit(e, call.stream, [all = std::move(all)](Emulator&) { return signal_all(all); });
}

CUresult perform(Emulator& e, const calls::WaitExternalSemaphoresAsync& call, const Facts&,
                 const Retired&) {
  Fences all;
  const CUresult ready = prepare(e, call, all);
  if (ready != CUDA_SUCCESS) return ready;
  return submit(e, call.stream,
                [all = std::move(all), next = std::size_t{0}](Emulator& at) mutable {
                  return wait_for_all(at, all, next);
                });
}

CUresult perform(Emulator& e, const calls::DestroyExternalSemaphore& call, const Facts&,
                 const Retired&) {
  return e.external.erase(call.extSem) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace cuvmm::emulator
