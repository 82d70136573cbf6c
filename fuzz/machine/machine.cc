// SPDX-License-Identifier: Apache-2.0
#include "fuzz/machine/machine_step.h"

#include <pthread.h>
#include <sched.h>

namespace cuvmm::fuzz {

namespace {

std::uint32_t digest(const void* data, std::size_t size) {
  // FNV-1a: the same on every machine.
  std::uint32_t hash = 2166136261u;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

}  // namespace

Helper::Helper()
    : thread_([this] {
        for (;;) {
          asked_.acquire();
          if (!work_) return;
          (*work_)();
          done_.release();
        }
      }) {}

Helper::~Helper() {
  work_ = nullptr;
  asked_.release();
  thread_.join();
}

void Helper::run(const std::function<void()>& work) {
  // Beside its caller, wherever that is now: only one of the two has anything to do, and to wake a
  // thread on another core takes longer than most calls.
  if (const int core = sched_getcpu(); core != core_ && core >= 0) {
    core_ = core;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(core, &only);
    pthread_setaffinity_np(thread_.native_handle(), sizeof only, &only);
  }
  work_ = &work;
  asked_.release();
  done_.acquire();
}

namespace {
// A driver whose table has no cuMulticast*: not even a shim could call one through it.
Driver without_multicast(Driver driver) {
  for (const EntryPoint entry :
       {EntryPoint::kMulticastCreate, EntryPoint::kMulticastAddDevice,
        EntryPoint::kMulticastBindMem, EntryPoint::kMulticastBindAddr,
        EntryPoint::kMulticastBindMem_v2, EntryPoint::kMulticastBindAddr_v2,
        EntryPoint::kMulticastUnbind, EntryPoint::kMulticastGetGranularity}) {
    driver.set(Driver::primary_symbol(entry), nullptr);
  }
  return driver;
}
}  // namespace

Machine::Machine(const Driver& first, bool multicast, const std::optional<Driver>& other)
    : drivers_{multicast ? first : without_multicast(first)}, multicast_(multicast) {
  // What another process is asked to do is a list without cuMulticast*.
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
  std::memset(static_cast<void*>(bindings_), 0, sizeof bindings_);
}

void Machine::make_current() {
  for (int thread = 0; thread < kThreads; ++thread) {
    if (thread != 0 && !used_[thread]) continue;
    CUcontext context = thread == 0 ? contexts_[0][0] : nullptr;
    on_thread(thread, [&] { drivers_[0](calls::CtxSetCurrent{context}); });
    current_[thread] = thread == 0 ? 0 : -1;
    used_[thread] = false;
  }
  for (int process = 1; process < processes(); ++process) {
    drivers_[process](calls::CtxSetCurrent{contexts_[process][0]});
    current_[actor_of(process, 0)] = 0;
  }
}

CUmemAllocationProp properties_of(const Op& op) {
  CUmemAllocationProp prop;
  std::memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = location_of(op.place);
  const unsigned types = op.code == Code::kGranularity ? op.value & 15u : op.value;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
  const PropertyTwist& twist = twists()[op.extra];
  const std::string_view key = twist.key;
  const auto value = static_cast<unsigned char>(twist.value);
  if (key == "rdma") prop.allocFlags.gpuDirectRDMACapable = value;
  if (key == "compression") prop.allocFlags.compressionType = value;
  if (key == "type") prop.type = static_cast<CUmemAllocationType>(value);
  if (key == "usage") prop.allocFlags.usage = value;
  if (key == "reserved0") prop.allocFlags.reserved[0] = value;
  if (key == "reserved2") prop.allocFlags.reserved[2] = value;
  if (key == "reserved3") prop.allocFlags.reserved[3] = value;
  static int somewhere = 0;
  if (key == "win32_metadata") prop.win32HandleMetaData = &somewhere;
  return prop;
}

std::uint64_t Machine::made(const Op& op) {
  switch (shape(op.code).makes) {
    case NameKind::kRange:
      return out_.address;
    case NameKind::kMemory:
      return out_.handle;
    case NameKind::kDescriptor: {
      int fd = -1;
      std::memcpy(&fd, out_.shareable, sizeof fd);
      return static_cast<std::uint64_t>(std::int64_t{fd});
    }
    case NameKind::kExternal:
      return reinterpret_cast<std::uint64_t>(out_.external);
    case NameKind::kPool:
      return reinterpret_cast<std::uint64_t>(out_.pool);
    case NameKind::kBlob:
      blobs_.push_back(out_.blob);
      return blobs_.size();
    case NameKind::kNone:
    case NameKind::kCount:
      break;
  }
  return 0;
}

std::uint32_t Machine::value_of(const Op& op) const {
  switch (op.code) {
    case Code::kGetAccess:
      return static_cast<std::uint32_t>(out_.flags);
    case Code::kGranularity:
    case Code::kMcGranularity:
      return static_cast<std::uint32_t>(out_.size);
    case Code::kProperties: {
      const int fields[] = {static_cast<int>(out_.prop.type),
                            static_cast<int>(out_.prop.location.type),
                            static_cast<int>(out_.prop.requestedHandleTypes)};
      return digest(fields, sizeof fields);
    }
    case Code::kRead:
      return digest(out_.bytes, op.size);
    default:
      return 0;
  }
}

}  // namespace cuvmm::fuzz
