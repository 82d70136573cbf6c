// SPDX-License-Identifier: Apache-2.0
#include "shim/facts/facts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "api/newer/pools.h"
#include "api/posix/cancel_off.h"
#include "rulebook/base/describe_devices.h"
#include "rulebook/base/limits.h"
#include "shim/facts/host_memory.h"

namespace cuvmm::shim {

std::uint64_t FactFinder::granularity(const CUmemAllocationProp& prop) {
  const Kind kind{
      prop.type,        prop.requestedHandleTypes,       prop.location.type,
      prop.location.id, prop.allocFlags.compressionType, prop.allocFlags.gpuDirectRDMACapable};
  const std::size_t known = cached_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < known; ++i) {
    if (granularities_[i].kind == kind) return granularities_[i].bytes;
  }
  const CancelOff no_cancel;
  // Copies only these members, because the driver must not follow pointers and reserved bytes of
  // the program's struct in a question of cuvmm.
  CUmemAllocationProp clean;
  std::memset(&clean, 0, sizeof clean);
  clean.type = kind.type;
  clean.requestedHandleTypes = kind.handle_types;
  clean.location.type = kind.location;
  clean.location.id = kind.id;
  clean.allocFlags.compressionType = kind.compression;
  clean.allocFlags.gpuDirectRDMACapable = kind.rdma;
  std::size_t bytes = 0;
  const CUresult result =
      driver_(calls::MemGetAllocationGranularity{&bytes, &clean, CU_MEM_ALLOC_GRANULARITY_MINIMUM});
  if (result != CUDA_SUCCESS) return 0;
  const Locked lock(mutex_);
  // Two threads may both add a kind: the second entry is never read.
  const std::size_t next = cached_.load(std::memory_order_relaxed);
  if (next < kMaxCached) {
    granularities_[next] = {kind, bytes};
    cached_.store(next + 1, std::memory_order_release);
  }
  return bytes;
}

void FactFinder::find_multicast_granularity(const CUmulticastObjectProp& prop,
                                            Facts::Multicast& multicast) const {
  const CancelOff no_cancel;
  const auto ask = [&](CUmulticastGranularity_flags option) -> std::uint64_t {
    std::size_t bytes = 0;
    const CUresult result = driver_(calls::MulticastGetGranularity{&bytes, &prop, option});
    return result == CUDA_SUCCESS ? bytes : 0;
  };
  multicast.granularity = ask(CU_MULTICAST_GRANULARITY_MINIMUM);
  if (multicast.granularity != 0) multicast.recommended = ask(CU_MULTICAST_GRANULARITY_RECOMMENDED);
}

void FactFinder::find_endpoint_limits(const CUlogicalEndpointProp& prop,
                                      Facts::Endpoint& endpoint) const {
  const CancelOff no_cancel;
  cuuint64_t alignment = 0, most = 0;
  if (driver_(calls::LogicalEndpointGetLimits{&alignment, &most, &prop}) != CUDA_SUCCESS) return;
  endpoint.alignment = alignment;
  endpoint.max_size = most;
}

// Containers may forbid this system call.
static Facts::Answer readable(std::uint64_t address, std::size_t size) {
  std::uint64_t copy = 0;
  const iovec to{&copy, size};
  const iovec from{reinterpret_cast<void*>(address), size};
  const auto read = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
  if (read == static_cast<ssize_t>(size)) return Facts::Answer::kYes;
  return errno == EFAULT ? Facts::Answer::kNo : Facts::Answer::kUnknown;
}

bool host_can_read(std::uint64_t address) { return readable(address, 1) == Facts::Answer::kYes; }

Facts::Answer FactFinder::handle_readable(CUmemGenericAllocationHandle handle) const {
  return emulated_ ? Facts::Answer::kUnknown : readable(handle, sizeof handle);
}

bool FactFinder::unmapped(std::uint64_t address) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return ::mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) != 0 &&
         errno == ENOMEM;
}

bool FactFinder::unreadable(std::uint64_t address) {
  return readable(address, 1) == Facts::Answer::kNo;
}

Facts::Answer FactFinder::descriptor_valid(const void* os_handle, CUmemAllocationHandleType type) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return Facts::Answer::kUnknown;
  const auto value = reinterpret_cast<std::intptr_t>(os_handle);
  if (value < INT_MIN || value > INT_MAX) return Facts::Answer::kUnknown;
  return descriptor_valid(static_cast<int>(value));
}

Facts::Answer FactFinder::descriptor_valid(int fd) {
  struct stat file;
  if (::fstat(fd, &file) != 0) {
    return errno == EBADF ? Facts::Answer::kNo : Facts::Answer::kUnknown;
  }
  const bool impossible = S_ISDIR(file.st_mode) || S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode);
  return impossible ? Facts::Answer::kNo : Facts::Answer::kUnknown;
}

int FactFinder::device_of(CUcontext context) const {
  const CancelOff no_cancel;
  CUdevice device = Facts::kUnknownDevice;
  CUcontext current = nullptr;
  if (driver_(calls::CtxGetCurrent{&current}) != CUDA_SUCCESS) return Facts::kUnknownDevice;
  if (context == nullptr || context == current) {
    return current && driver_(calls::CtxGetDevice{&device}) == CUDA_SUCCESS ? device
                                                                            : Facts::kUnknownDevice;
  }
  // Before CUDA 13.0, only the current context can be asked for its device.
  if (driver_(calls::CtxPushCurrent{context}) != CUDA_SUCCESS) return Facts::kUnknownDevice;
  if (driver_(calls::CtxGetDevice{&device}) != CUDA_SUCCESS) device = Facts::kUnknownDevice;
  CUcontext popped = nullptr;
  driver_(calls::CtxPopCurrent{&popped});
  return device;
}

void FactFinder::find_device(CUstream stream, bool copy, Facts::Place& place) const {
  const CancelOff no_cancel;
  CUcontext context = nullptr;
  // The default streams (null, 1 legacy, 2 per thread) belong to the current context.
  const bool named = reinterpret_cast<std::uintptr_t>(stream) > 2;
  if (!named || copy) {
    if (driver_(calls::CtxGetCurrent{&context}) != CUDA_SUCCESS) return;
    int device = 0;
    if (context && driver_(calls::CtxGetDevice{&device}) == CUDA_SUCCESS) place.device = device;
    if (context || !named) {
      place.context = context ? Facts::Answer::kYes : Facts::Answer::kNo;
      return;
    }
  }
  if (driver_(calls::StreamGetCtx{stream, &context}) == CUDA_SUCCESS)
    place.device = device_of(context);
}

ImportedMemory FactFinder::describe_import(CUmemGenericAllocationHandle handle, bool& memory) {
  const CancelOff no_cancel;
  ImportedMemory known;
  const auto result = driver_(calls::MemGetAllocationPropertiesFromHandle{&known.prop, handle});
  // A driver that has run out of memory says nothing about the kind of the handle.
  memory = result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY;
  if (result != CUDA_SUCCESS) return known;
  known.prop_known = true;
  known.granularity = granularity(known.prop);
  return known;
}

namespace {

// Finds the devices that support multicast; changes nothing if the driver does not answer.
void find_multicast(const Driver& driver, int devices, Platform& platform) {
  if (devices <= 0 || devices > kMaxDevices) return;
  std::uint64_t mask = 0;
  for (int device = 0; device < devices; ++device) {
    int supported = 0;
    if (driver(calls::DeviceGetAttribute{&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED,
                                         device}) != CUDA_SUCCESS) {
      return;
    }
    if (supported) mask |= std::uint64_t{1} << device;
  }
  platform.multicast_known = true;
  platform.multicast = mask;
}

// The value of an attribute that older drivers do not know; nullopt from an older driver.
std::optional<int> asked(const Driver& driver, int attribute, int device) {
  int value = 0;
  const calls::DeviceGetAttribute question{&value, static_cast<CUdevice_attribute>(attribute),
                                           device};
  if (driver(question) != CUDA_SUCCESS) return std::nullopt;
  return value;
}

// Finds the cliques of the devices (CUDA 13.4).
void find_cliques(const Driver& driver, int devices, Platform& platform) {
  if (devices <= 0 || devices > kMaxDevices) return;
  std::vector<std::vector<Platform::Clique>> cliques;
  for (int device = 0; device < devices; ++device) {
    std::size_t count = 0;
    constexpr std::size_t kMost = 64;
    CUcliqueInfo info[kMost] = {};
    if (driver(calls::DeviceGetCliqueCount{&count, device}) != CUDA_SUCCESS || count > kMost ||
        driver(calls::DeviceGetCliqueInfo{info, &count, device}) != CUDA_SUCCESS || count > kMost) {
      return;
    }
    std::vector<Platform::Clique>& here = cliques.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      here.push_back({static_cast<std::uint32_t>(info[i].type), info[i].id});
    }
  }
  platform.cliques = std::move(cliques);
}

// Handle types that some device can export; 0 if the driver does not answer.
std::uint32_t exportable_types(const Driver& driver, int devices) {
  static constexpr struct {
    int attribute;
    std::uint32_t type;
  } kTypes[] = {{103, 1}, {104, 2}, {105, 4}, {128, 8}};
  std::uint32_t mask = 0;
  for (int device = 0; device < devices; ++device) {
    for (const auto& [attribute, type] : kTypes) {
      int supported = 0;
      const calls::DeviceGetAttribute question{&supported,
                                               static_cast<CUdevice_attribute>(attribute), device};
      // A driver that is older than an attribute refuses the question, and lacks the type.
      if (driver(question) == CUDA_SUCCESS && supported) mask |= type;
    }
  }
  return mask;
}

// NUMA nodes that exist, of the first 64; 0 if the kernel does not tell.
std::uint64_t read_numa_nodes() {
  const int fd = ::open("/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[256];
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (got <= 0) return 0;
  text[got] = '\0';
  std::uint64_t mask = 0;
  // "0-1,4"
  for (char* at = text; *at >= '0' && *at <= '9';) {
    const unsigned long first = std::strtoul(at, &at, 10);
    const unsigned long last = *at == '-' ? std::strtoul(at + 1, &at, 10) : first;
    for (unsigned long node = first; node <= last && node < 64; ++node) mask |= 1ull << node;
    if (*at == ',') ++at;
  }
  return mask;
}

// read_numa_nodes(), with the answer of the first call stored. Two threads may both read it, so
// that no child that is forked meanwhile waits for one of them.
std::uint64_t numa_nodes() {
  static constinit std::atomic<std::uint64_t> nodes = ~std::uint64_t{0};
  std::uint64_t known = nodes.load(std::memory_order_relaxed);
  if (known == ~std::uint64_t{0}) {
    known = read_numa_nodes();
    nodes.store(known, std::memory_order_relaxed);
  }
  return known;
}

}  // namespace

CUresult FactFinder::learn(Platform& platform) const {
  int count = 0;
  const CUresult answer = driver_(calls::DeviceGetCount{&count});
  if (answer != CUDA_SUCCESS) return answer;
  if (count > 0) platform.device_count = count;
  const long page = ::sysconf(_SC_PAGESIZE);
  if (page > 0) platform.host_page = static_cast<std::uint64_t>(page);
  platform.handle_types = exportable_types(driver_, count);
  platform.numa_nodes = numa_nodes();
  find_multicast(driver_, count, platform);
  int version = 0;
  if (driver_(calls::DriverGetVersion{&version}) == CUDA_SUCCESS) platform.driver_version = version;
  const auto ask = [&](int attribute, int device) { return asked(driver_, attribute, device); };
  describe_devices(count, ask, platform);
  describe_endpoints(count, ask, platform);
  if (platform.endpoints.known) find_cliques(driver_, count, platform);
  constexpr int kMaxAsked = 16;  // for larger machines the peers stay unknown, because n devices
                                 // need n^2 questions
  if (count <= 0 || count > kMaxAsked) return CUDA_SUCCESS;
  platform.reach.assign(static_cast<std::size_t>(count), 0);
  for (int device = 0; device < count; ++device) {
    std::uint64_t mask = std::uint64_t{1} << device;
    for (int peer = 0; peer < count; ++peer) {
      int can = 0;
      if (peer != device &&
          driver_(calls::DeviceCanAccessPeer{&can, device, peer}) != CUDA_SUCCESS) {
        platform.reach.clear();
        return CUDA_SUCCESS;
      }
      if (can) mask |= std::uint64_t{1} << peer;
    }
    platform.reach[static_cast<std::size_t>(device)] = mask;
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::shim
