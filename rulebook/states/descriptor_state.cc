// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/descriptor_state.h"

namespace cuvmm {

namespace {

bool by_descriptor(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& desc) {
  const auto type = static_cast<unsigned>(desc.type);
  return type == external_type::kOpaqueFd || type == external_type::kDmaBufFd;
}
bool by_descriptor(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC& desc) {
  const auto type = static_cast<unsigned>(desc.type);
  return type == external_type::kOpaqueFd || type == external_type::kTimelineFd;
}

}  // namespace

void DescriptorState::opened(int fd) {
  given_.erase(fd);
  exports_.erase(fd);
  ended_.erase(fd);
}

void DescriptorState::give_away(int fd, Origin at) {
  opened(fd);
  given_[fd] = at;
}

void DescriptorState::confirm(const calls::MemExportToShareableHandle& call, const Facts&,
                              Origin at, const Surroundings& around) {
  if (call.handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return;
  const int fd = *static_cast<const int*>(call.shareableHandle);
  opened(fd);
  const Allocation* exported = around.vmm.allocation(call.handle);
  exports_[fd] = {
      .fd = fd, .handle = call.handle, .size = exported ? exported->size : 0, .made = at};
}

void DescriptorState::confirm(const calls::MemGetHandleForAddressRange& call, const Facts&, Origin,
                              const Surroundings&) {
  if (call.handleType == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) {
    opened(*static_cast<const int*>(call.handle));
  }
}

void DescriptorState::confirm(const calls::MemPoolExportToShareableHandle& call, const Facts&,
                              Origin, const Surroundings&) {
  if (call.handleType == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    opened(*static_cast<const int*>(call.handle_out));
  }
}

void DescriptorState::confirm(const calls::ImportExternalMemory& call, const Facts&, Origin at,
                              const Surroundings&) {
  if (by_descriptor(*call.memHandleDesc)) give_away(call.memHandleDesc->handle.fd, at);
}

void DescriptorState::confirm(const calls::ImportExternalSemaphore& call, const Facts&, Origin at,
                              const Surroundings&) {
  if (by_descriptor(*call.semHandleDesc)) give_away(call.semHandleDesc->handle.fd, at);
}

}  // namespace cuvmm
