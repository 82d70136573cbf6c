// SPDX-License-Identifier: Apache-2.0
// The bodies of Machine's templates.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "fuzz/machine/machine.h"

namespace cuvmm::fuzz {

/// The properties that an op of kCreate or kGranularity asks with.
CUmemAllocationProp properties_of(const Op& op);
/// The value and size that an address or a size field stands for.
inline std::uint64_t distance(std::uint8_t granules, std::uint8_t odd) {
  return granules * kGranule + kOdd[odd];
}
inline CUmemLocation location_of(std::uint8_t place) {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(places()[place].type);
  location.id = places()[place].id;
  return location;
}

template <class Work>
void Machine::on_thread(int thread, Work&& work) {
  if (thread == running_) return work();
  if (!helpers_[thread]) helpers_[thread] = std::make_unique<Helper>();
  running_ = thread;
  helpers_[thread]->run(std::ref(work));
  running_ = 0;
}

template <class Visit>
Answer Machine::step(const Op& op, Visit&& visit) {
  Answer answer;
  if (is_multicast(op.code) && !multicast_) return answer;
  const Shape& s = shape(op.code);
  // Without a place to write to the name is not even bound again.
  const bool makes = s.makes != NameKind::kNone && !(op.faults & kNullOut);
  Binding* target = makes ? &binding(s.makes, op.name) : nullptr;
  const auto value = [&](NameKind kind, std::uint8_t name, bool& usable) -> std::uint64_t {
    if (kind == NameKind::kNone || name == 0) return 0;
    const Binding& b = binding(kind, name);
    if (b.state == Binding::kFailed) usable = false;
    // A descriptor is handed over while it is open; the driver may have closed this one.
    if (b.given && process_of(op) != 0) usable = false;
    // Whose file has the number of a descriptor that was taken is the driver's own affair.
    if (b.taken && fcntl(static_cast<int>(b.value), F_GETFD) >= 0) usable = false;
    return b.state == Binding::kBound ? b.value : 0;
  };
  const int process = process_of(op);
  bool usable = process < processes();
  const std::uint64_t first = value(s.ref, op.ref, usable);
  const std::uint64_t second = value(s.ref2, op.ref2, usable);
  if (target) *target = {Binding::kFailed};
  if (op.code == Code::kExtImport && op.ref) binding(s.ref, op.ref).given = true;
  if (op.code == Code::kClose) {
    // A number that is closed may come back as somebody else's: the name stands for nothing now.
    if (op.ref && binding(s.ref, op.ref).given) return answer;
    if (op.ref) binding(s.ref, op.ref).state = Binding::kUnbound;
    if (!usable || first == 0) return answer;
    ::close(static_cast<int>(first));
    if (on_close) on_close(static_cast<int>(first));
    answer.run = true;
    return answer;
  }
  if (!usable) return answer;
  answer.run = true;
  if (op.code == Code::kContext) {
    if (op.place >= devices()) {
      answer.result = CUDA_ERROR_INVALID_DEVICE;
      return answer;
    }
    const int thread = thread_of(op);
    used_[thread] = true;
    const calls::CtxSetCurrent change{contexts_[process][op.place]};
    on_thread(thread, [&] { answer.result = drivers_[process](change); });
    if (answer.result == CUDA_SUCCESS) current_[op.actor] = op.place;
    return answer;
  }
  on_thread(thread_of(op), [&] { answer.result = call(op, first, second, visit); });
  // UNKNOWN: it looked at the descriptor, and closed it all the same.
  const bool took = answer.result == CUDA_SUCCESS || answer.result == CUDA_ERROR_UNKNOWN;
  if (op.code == Code::kExtImport && op.ref && took) binding(s.ref, op.ref).taken = true;
  if (answer.result == CUDA_SUCCESS) {
    answer.value = value_of(op);
    if (target) *target = {Binding::kBound, made(op)};
  }
  return answer;
}

template <class Visit>
CUresult Machine::call(const Op& op, std::uint64_t first, std::uint64_t second, Visit& visit) {
  const bool no_out = op.faults & kNullOut;
  const bool no_in = op.faults & kNullIn;
  const std::uint64_t address = first + distance(op.at, op.odd);
  const std::uint64_t size = distance(op.size, op.odd_size);
  const auto type = static_cast<CUmemAllocationHandleType>(op.value);
  switch (op.code) {
    case Code::kReserve:
      return visit(calls::MemAddressReserve{no_out ? nullptr : &out_.address, size,
                                            alignments()[op.extra], address, op.flags});
    case Code::kFree:
      return visit(calls::MemAddressFree{address, size});
    case Code::kCreate:
      prop_ = properties_of(op);
      return visit(calls::MemCreate{no_out ? nullptr : &out_.handle, size, no_in ? nullptr : &prop_,
                                    op.flags});
    case Code::kRelease:
      return visit(calls::MemRelease{first});
    case Code::kMap:
      return visit(calls::MemMap{address, size, offsets()[op.extra], second, op.flags});
    case Code::kUnmap:
      return visit(calls::MemUnmap{address, size});
    case Code::kSetAccess: {
      access_[0] = {location_of(op.place), static_cast<CUmemAccess_flags>(op.value)};
      if (op.extra) {
        access_[1] = {location_of(static_cast<std::uint8_t>(op.extra - 1)),
                      CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      }
      const std::size_t count = op.faults & kNoCount ? 0 : op.extra ? 2 : 1;
      return visit(calls::MemSetAccess{address, size, no_in ? nullptr : access_, count});
    }
    case Code::kGetAccess:
      location_ = location_of(op.place);
      return visit(calls::MemGetAccess{no_out ? nullptr : &out_.flags, no_in ? nullptr : &location_,
                                       address});
    case Code::kExport:
      return visit(calls::MemExportToShareableHandle{no_out ? nullptr : out_.shareable, first, type,
                                                     op.flags});
    case Code::kImport: {
      const std::uint64_t descriptor = op.extra ? kNoDescriptor : first;
      return visit(calls::MemImportFromShareableHandle{no_out ? nullptr : &out_.handle,
                                                       reinterpret_cast<void*>(descriptor), type});
    }
    case Code::kGranularity:
      prop_ = properties_of(op);
      return visit(calls::MemGetAllocationGranularity{
          no_out ? nullptr : &out_.size, no_in ? nullptr : &prop_,
          static_cast<CUmemAllocationGranularity_flags>(op.value >> 4)});
    case Code::kProperties:
      return visit(
          calls::MemGetAllocationPropertiesFromHandle{no_out ? nullptr : &out_.prop, first});
    case Code::kRetain:
      return visit(calls::MemRetainAllocationHandle{no_out ? nullptr : &out_.handle,
                                                    reinterpret_cast<void*>(address)});
    case Code::kRangeHandle:
      return visit(calls::MemGetHandleForAddressRange{
          no_out ? nullptr : out_.shareable, address, size,
          static_cast<CUmemRangeHandleType>(op.value), op.flags});
    case Code::kFill: {
      const unsigned value = op.value * 0x01020301u;
      if (op.extra == 0) return visit(calls::MemsetD8{address, op.value, op.size});
      if (op.extra == 1) {
        return visit(calls::MemsetD16{address, static_cast<unsigned short>(value), op.size});
      }
      return visit(calls::MemsetD32{address, value, op.size});
    }
    case Code::kRead:
      std::memset(out_.bytes, 0xcd, op.size);
      return visit(calls::MemcpyDtoH{out_.bytes, address, op.size});
    case Code::kWrite:
      std::memset(out_.bytes, op.value, op.size);
      return visit(calls::MemcpyHtoD{address, out_.bytes, op.size});
    case Code::kCopy:
      return visit(calls::MemcpyDtoD{address, second + distance(op.at2, op.odd2), op.size});
    case Code::kMemFree:
      return visit(calls::MemFree{address});
    default:
      return call_area(op, first, second, visit);
  }
}

}  // namespace cuvmm::fuzz
