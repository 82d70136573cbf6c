// The calls of the areas beside virtual memory management: the rest of Machine::call.
#pragma once

#include "fuzz/machine.h"
#include "fuzz/machine_step.h"

namespace cuvmm::fuzz {

template <class Visit>
CUresult Machine::call_area(const Op& op, std::uint64_t first, std::uint64_t /*second*/,
                            Visit& visit) {
  const bool no_out = op.faults & kNullOut;
  const bool no_in = op.faults & kNullIn;
  const bool wild = op.extra & kWild;
  const std::uint64_t size = distance(op.size, op.odd_size);
  const auto external = reinterpret_cast<CUexternalMemory>(wild ? kGarbage : first);
  switch (op.code) {
    case Code::kExtImport: {
      CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
      desc.type = static_cast<CUexternalMemoryHandleType>(op.value);
      // Never 0: a driver closes what it does not like.
      const std::uint64_t fd = wild ? kNoDescriptor : first;
      desc.handle.fd = fd == 0 ? -1 : static_cast<int>(fd);
      desc.size = size;
      desc.flags = op.flags;
      desc.reserved[0] = op.extra & kReservedWord;
      return visit(
          calls::ImportExternalMemory{no_out ? nullptr : &out_.external, no_in ? nullptr : &desc});
    }
    case Code::kExtBuffer: {
      CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc{};
      desc.offset = distance(op.at, op.odd);
      desc.size = size;
      desc.flags = op.flags;
      desc.reserved[0] = op.extra & kReservedWord;
      return visit(calls::ExternalMemoryGetMappedBuffer{no_out ? nullptr : &out_.address, external,
                                                        no_in ? nullptr : &desc});
    }
    case Code::kExtDestroy:
      return visit(calls::DestroyExternalMemory{external});
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace cuvmm::fuzz
