// SPDX-License-Identifier: Apache-2.0
// The calls of the areas beside virtual memory management: the rest of Machine::call.
#pragma once

#include "fuzz/machine/machine.h"
#include "fuzz/machine/machine_step.h"

namespace cuvmm::fuzz {

template <class Visit>
CUresult Machine::call_area(const Op& op, std::uint64_t first, std::uint64_t second, Visit& visit) {
  const bool no_out = op.faults & kNullOut;
  const bool no_in = op.faults & kNullIn;
  const bool wild = op.extra & kWild;
  const std::uint64_t size = distance(op.size, op.odd_size);
  const std::uint64_t address = first + distance(op.at, op.odd);
  const auto pool = reinterpret_cast<CUmemoryPool>(first);
  const auto blob = [this](std::uint64_t index) {
    return index && index <= blobs_.size() ? blobs_[index - 1] : std::array<unsigned char, 64>{};
  };
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
    case Code::kPoolCreate: {
      CUmemPoolProps props{};
      props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      props.location = location_of(op.place);
      props.handleTypes = static_cast<CUmemAllocationHandleType>(op.value);
      const std::string_view twist = pool_twists()[op.extra].key;
      if (twist == "allocType") props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
      if (twist == "win32_security") {
        props.win32SecurityAttributes = reinterpret_cast<void*>(pool_twists()[op.extra].value);
      }
      if constexpr (requires { props.usage; }) {
        if (twist == "usage") props.usage = 1;
      }
      if (twist == "reserved0") props.reserved[0] = 1;
      return visit(calls::MemPoolCreate{no_out ? nullptr : &out_.pool, no_in ? nullptr : &props});
    }
    case Code::kPoolDefault:
      return visit(calls::DeviceGetDefaultMemPool{&out_.pool, device_number(op.place)});
    case Code::kPoolDestroy:
      return visit(calls::MemPoolDestroy{pool});
    case Code::kPoolAlloc:
      return visit(calls::MemAllocFromPoolAsync{no_out ? nullptr : &out_.address, size, pool, {}});
    case Code::kFreeAsync:
      return visit(calls::MemFreeAsync{address, {}});
    case Code::kPoolSetAccess: {
      access_[0] = {location_of(op.place), static_cast<CUmemAccess_flags>(op.value)};
      if (op.extra) {
        access_[1] = {location_of(static_cast<std::uint8_t>(op.extra - 1)),
                      CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      }
      const std::size_t count = op.extra ? 2 : 1;
      return visit(calls::MemPoolSetAccess{pool, no_in ? nullptr : access_, count});
    }
    case Code::kPoolSet:
      return visit(calls::DeviceSetMemPool{device_number(op.place), pool});
    case Code::kPoolExport:
      return visit(calls::MemPoolExportToShareableHandle{
          no_out ? nullptr : out_.shareable, pool, static_cast<CUmemAllocationHandleType>(op.value),
          op.flags});
    case Code::kPoolImport:
      return visit(calls::MemPoolImportFromShareableHandle{
          no_out ? nullptr : &out_.pool, reinterpret_cast<void*>(wild ? kNoDescriptor : first),
          static_cast<CUmemAllocationHandleType>(op.value), op.flags});
    case Code::kPointerExport:
      return visit(calls::MemPoolExportPointer{
          no_out ? nullptr : reinterpret_cast<CUmemPoolPtrExportData*>(&out_.blob), address});
    case Code::kPointerImport: {
      auto bytes = blob(second);
      return visit(calls::MemPoolImportPointer{
          no_out ? nullptr : &out_.address, pool,
          no_in ? nullptr : reinterpret_cast<CUmemPoolPtrExportData*>(&bytes)});
    }
    case Code::kAlloc:
      return visit(calls::MemAlloc{&out_.address, size});
    case Code::kIpcGet:
      return visit(calls::IpcGetMemHandle{
          no_out ? nullptr : reinterpret_cast<CUipcMemHandle*>(&out_.blob), address});
    case Code::kIpcOpen: {
      auto bytes = blob(first);
      if (wild) bytes.fill(kForged);
      CUipcMemHandle handle;
      std::memcpy(&handle, bytes.data(), sizeof handle);
      return visit(calls::IpcOpenMemHandle{no_out ? nullptr : &out_.address, handle, op.flags});
    }
    case Code::kIpcClose:
      return visit(calls::IpcCloseMemHandle{address});
    case Code::kMcCreate: {
      CUmulticastObjectProp prop{};
      prop.numDevices = team_size(op.extra);
      prop.size = size;
      prop.handleTypes = op.value;
      prop.flags = op.flags;
      return visit(
          calls::MulticastCreate{no_out ? nullptr : &out_.handle, no_in ? nullptr : &prop});
    }
    case Code::kMcAddDevice:
      return visit(calls::MulticastAddDevice{first, device_number(op.place)});
    case Code::kMcBindMem:
      return visit(calls::MulticastBindMem{first, distance(op.at, op.odd), second,
                                           distance(op.at2, op.odd2), size, op.flags});
    case Code::kMcBindAddr:
      return visit(calls::MulticastBindAddr{first, distance(op.at, op.odd),
                                            second + distance(op.at2, op.odd2), size, op.flags});
    case Code::kMcUnbind:
      return visit(
          calls::MulticastUnbind{first, device_number(op.place), distance(op.at, op.odd), size});
    case Code::kMcGranularity: {
      CUmulticastObjectProp prop{};
      prop.numDevices = team_size(op.extra);
      prop.size = size;
      prop.handleTypes = op.value & 15u;
      prop.flags = op.flags;
      return visit(
          calls::MulticastGetGranularity{no_out ? nullptr : &out_.size, no_in ? nullptr : &prop,
                                         static_cast<CUmulticastGranularity_flags>(op.value >> 4)});
    }
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace cuvmm::fuzz
