// SPDX-License-Identifier: Apache-2.0
#include "fuzz/machine/machine.h"

namespace cuvmm::fuzz {

namespace {

std::uint32_t digest(const void* data, std::size_t size) {
  // FNV-1a, because it is equal on every machine.
  std::uint32_t hash = 2166136261u;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

}  // namespace

std::uint32_t out_value(ParameterKind kind, const void* out, std::size_t bytes) {
  switch (kind) {
    case ParameterKind::kOutFlags:
    case ParameterKind::kOutSize: {
      std::uint64_t value = 0;
      std::memcpy(&value, out, sizeof value);
      return static_cast<std::uint32_t>(value);
    }
    case ParameterKind::kOutProp: {
      const auto& prop = *static_cast<const CUmemAllocationProp*>(out);
      const int fields[] = {static_cast<int>(prop.type), static_cast<int>(prop.location.type),
                            static_cast<int>(prop.requestedHandleTypes)};
      return digest(fields, sizeof fields);
    }
    case ParameterKind::kHostOut:
      return digest(out, bytes);
    default:
      return 0;
  }
}

namespace {
// The driver without the functions that can make or use a multicast team, so that not even a shim
// can call them through this table.
Driver without_multicast(Driver driver) {
  for (const SymbolInfo& info : symbols()) {
    if (can_multicast(info.name)) driver.set(info.symbol, nullptr);
  }
  return driver;
}
}  // namespace

Machine::Machine(const Driver& first, bool multicast, const std::optional<Driver>& other,
                 int version)
    : drivers_{multicast ? first : without_multicast(first)},
      multicast_(multicast),
      version_(version) {
  // The list of calls for another process has no multicast.
  if (other) drivers_.push_back(without_multicast(*other));
  for (int process = 0; process < processes() && error_.empty(); ++process) {
    const Driver& driver = drivers_[process];
    auto& contexts = contexts_[process];
    int count = 0;
    CUresult result = driver(calls::Init{0});
    if (result == CUDA_SUCCESS) result = driver(calls::DeviceGetCount{&count});
    for (int i = 0; i < count && i < kHostPlace && result == CUDA_SUCCESS; ++i) {
      CUdevice device = 0;
      CUcontext context = nullptr;
      result = driver(calls::DeviceGet{&device, i});
      if (result == CUDA_SUCCESS) result = driver(calls::DevicePrimaryCtxRetain{&context, device});
      contexts.push_back(context);
    }
    if (result != CUDA_SUCCESS) error_ = "the driver does not start: " + result_name(result);
    if (contexts.empty() && error_.empty()) error_ = "the driver has no device";
    if (contexts.size() != contexts_[0].size()) error_ = "two processes see different devices";
  }
}

void Machine::start() {
  make_current();
  blobs_.clear();
  for (Binding* binding : used_bindings_) *binding = {};
  used_bindings_.clear();
}

void Machine::make_current() {
  drivers_[0](calls::CtxSetCurrent{contexts_[0][0]});
  current_[0] = 0;
  for (int thread = 1; thread < kThreads; ++thread) {
    stale_[thread] |= std::exchange(used_[thread], false);
    current_[thread] = -1;
  }
  for (int process = 1; process < processes(); ++process) {
    drivers_[process](calls::CtxSetCurrent{contexts_[process][0]});
    current_[actor_of(process, 0)] = 0;
  }
}

std::uint64_t Machine::made(const Op& op) {
  const NameKind kind = shape(op.code).makes;
  if (kind == NameKind::kBlob) {
    std::memcpy(blobs_.emplace_back().data(), memory_.out, sizeof(Blob));
    return blobs_.size();
  }
  if (kind == NameKind::kDescriptor) {
    int fd = -1;
    // A fabric handle is no descriptor, and no program uses it.
    const bool fabric = op.code == Code::kExport && op.value == CU_MEM_HANDLE_TYPE_FABRIC;
    if (!fabric) std::memcpy(&fd, memory_.out, sizeof fd);
    return static_cast<std::uint64_t>(std::int64_t{fd});
  }
  if (kind == NameKind::kEndpoint) {
    CUlogicalEndpointId id = 0;
    std::memcpy(&id, memory_.out, sizeof id);
    return id;
  }
  std::uint64_t value = 0;  // an address, a handle, a pointer
  std::memcpy(&value, memory_.out, sizeof value);
  return value;
}

}  // namespace cuvmm::fuzz
