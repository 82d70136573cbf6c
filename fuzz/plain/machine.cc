// SPDX-License-Identifier: Apache-2.0
// Makes, places and frees memory.
#include "fuzz/plain/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "fuzz/plain/extent.h"

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::uint64_t kMostRegistered = 8 << 20;  // larger than all sizes except the absurd ones

// Memory of the program, with inaccessible guard space on both sides. So a registration or a copy
// beside the memory behaves alike in every process.
constexpr std::uint64_t kGuard = 16 << 20;

std::uint64_t host_region(std::uint64_t size, int protection) {
  void* at = mmap(nullptr, size + 2 * kGuard, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return 0;
  void* const middle = static_cast<char*>(at) + kGuard;
  mprotect(middle, size, PROT_READ | PROT_WRITE);
  std::memset(middle, 0x11, std::min<std::uint64_t>(size, 1 << 20));
  if (protection != (PROT_READ | PROT_WRITE)) mprotect(middle, size, protection);
  return reinterpret_cast<std::uint64_t>(middle);
}

void end_region(std::uint64_t at, std::uint64_t size) {
  if (at) munmap(reinterpret_cast<void*>(at - kGuard), size + 2 * kGuard);
}

}  // namespace

bool is_sticky(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_FAILED ||
         result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_ECC_UNCORRECTABLE ||
         (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED);
}

Machine::Machine(const Functions& functions) : f_(functions) {
  const auto need = [this](CUresult result, const char* what) {
    if (result != CUDA_SUCCESS && error_.empty()) {
      error_ = std::string(what) + " answers " + std::to_string(result);
    }
  };
  need(f_.cuInit(0), "cuInit");
  if (!error_.empty()) return;
  need(f_.cuDeviceGetCount(&devices_), "cuDeviceGetCount");
  need(f_.cuDevicePrimaryCtxRetain(&contexts_[0], 0), "cuDevicePrimaryCtxRetain");
  need(f_.cuCtxCreate_v2(&contexts_[1], 0, 0), "cuCtxCreate");
  contexts_[2] = contexts_[0];
  if (devices_ > 1) need(f_.cuDevicePrimaryCtxRetain(&contexts_[2], 1), "cuDevicePrimaryCtxRetain");
  need(f_.cuCtxSetCurrent(contexts_[0]), "cuCtxSetCurrent");
  need(f_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  need(f_.cuDeviceGetDefaultMemPool(&default_pool_, 0), "cuDeviceGetDefaultMemPool");
  buffer_ = reinterpret_cast<char*>(host_region(kBuffer, PROT_READ | PROT_WRITE));
  if (!buffer_) error_ = "no memory";
}

void Machine::start() {
  for (Block& block : blocks_) block = {};
  for (CUmemoryPool& pool : pools_) pool = nullptr;
  f_.cuCtxSetCurrent(contexts_[0]);
  current_ = 0;
  tainted_ = false;
  allocations_ = 0;
  used_pools_ = 0;
}

Step Machine::step(const Op& op) {
  Step step;
  step.answer.how = Answer::How::kDone;
  CUresult result = CUDA_SUCCESS;
  if (op.code <= Code::kUnmap) {
    result = memory(op, step);
  } else if (op.code <= Code::kAccess) {
    result = query(op, step);
  } else if (is_data(op.code)) {
    result = data(op, step);
  } else if (is_of_pool(op.code)) {
    result = pools(op, step);
  } else {
    step.answer.how = Answer::How::kNotRun;
  }
  step.answer.result = static_cast<std::uint16_t>(result);
  if (result != CUDA_SUCCESS || step.answer.how != Answer::How::kDone) step.answer.value = 0;
  broken_ = broken_ || is_sticky(result);
  return step;
}

CUresult Machine::memory(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at);
  describe(at, step);
  Block& block = blocks_[at.name];
  const bool at_start = at.name && at.offset == 0;
  // The machine does not end memory where other memory may lie by now, at or beside the block.
  const bool ends = op.code == Code::kUnregister || op.code == Code::kFree ||
                    op.code == Code::kFreeHost || op.code == Code::kFreeAsync;
  if (ends && step.outside) {
    step.answer.how = Answer::How::kLeftOut;
    return CUDA_SUCCESS;
  }
  switch (op.code) {
    case Code::kContext: {
      const unsigned which = op.which % 4;
      const CUresult result = f_.cuCtxSetCurrent(which == 3 ? nullptr : contexts_[which]);
      if (result == CUDA_SUCCESS) current_ = which;
      return result;
    }
    case Code::kRegister:
      if (beside_host_memory(op, at)) {
        step.answer.how = Answer::How::kLeftOut;
        return CUDA_SUCCESS;
      }
      // The driver's layout decides whether a range of terabytes meets other locked memory.
      step.outside = step.outside || pick(kSizes, op.size) > kMostRegistered;
      return do_register(op);
    case Code::kUnregister:
      return unregister(op, at);
    case Code::kFree: {
      const CUresult result = f_.cuMemFree_v2(at.address);
      if (result == CUDA_SUCCESS && at_start) bury(block);
      return result;
    }
    case Code::kFreeHost: {
      const CUresult result = f_.cuMemFreeHost(reinterpret_cast<void*>(at.address));
      if (result == CUDA_SUCCESS && at_start) bury(block);
      return result;
    }
    case Code::kFreeAsync: {
      const CUresult result = f_.cuMemFreeAsync(at.address, stream(op.form));
      if (result == CUDA_SUCCESS && at_start) bury(block);
      return settle(result, stream(op.form));
    }
    case Code::kMap:
      return map(op);
    case Code::kUnmap:
      if (block.kind != Kind::kMapped || !block.live) {
        step.answer.how = Answer::How::kNotRun;
        return CUDA_SUCCESS;
      }
      return unmap(block);
    default:
      return allocate(op, step);
  }
}

CUresult Machine::allocate(const Op& op, Step& step) {
  Block block;
  block.size = pick(kSizes, op.size);
  CUdeviceptr address = 0;
  void* host = nullptr;
  CUdeviceptr* out = op.faults & kNullOut ? nullptr : &address;
  void** host_out = op.faults & kNullOut ? nullptr : &host;
  CUresult result = CUDA_SUCCESS;
  switch (op.code) {
    case Code::kAlloc:
      block.kind = Kind::kPlain;
      result = f_.cuMemAlloc_v2(out, block.size);
      break;
    case Code::kAllocPitch: {
      block.kind = Kind::kPitched;
      block.width = block.size;
      block.height = pick(kHeights, op.height);
      std::size_t pitch = 0;
      result = f_.cuMemAllocPitch_v2(out, op.faults & kNullOut2 ? nullptr : &pitch, block.width,
                                     block.height, pick(kElements, op.which));
      block.pitch = pitch;
      block.size = pitch * block.height;
      step.answer.value = static_cast<std::uint32_t>(pitch);
      break;
    }
    case Code::kAllocHost:
    case Code::kHostAlloc:
      block.kind = Kind::kHost;
      result = op.code == Code::kAllocHost
                   ? f_.cuMemAllocHost_v2(host_out, block.size)
                   : f_.cuMemHostAlloc(host_out, block.size, op.flags & 31u);
      address = block.host = reinterpret_cast<std::uint64_t>(host);
      break;
    case Code::kAllocAsync:
      block.kind = Kind::kPooled;
      // The current pool may be another pool; only the fact that memory came from it matters.
      block.pool = kDefaultPool;
      result = settle(f_.cuMemAllocAsync(out, block.size, stream(op.form)), stream(op.form));
      break;
    default:
      block.kind = Kind::kPooled;
      block.pool = op.ref2 % kPools ? op.ref2 % kPools : kDefaultPool;
      result = settle(f_.cuMemAllocFromPoolAsync(out, block.size, pool(op.ref2), stream(op.form)),
                      stream(op.form));
  }
  step.kind = block.kind;
  block.device = address;
  if (result != CUDA_SUCCESS) return result;
  if (block.kind == Kind::kPooled) {
    // The machine does not follow which pool is current, so it may be any.
    const bool any = op.code == Code::kAllocAsync;
    const unsigned bit = 1u << (block.pool == kDefaultPool ? 0 : block.pool);
    block.first_of_pool = any ? used_pools_ == 0 : (used_pools_ & bit) == 0;
    used_pools_ |= any ? ~0u : bit;
  }
  if (op.code != Code::kAllocPitch) step.answer.value = address != 0;
  if (address != 0) bind(op.name % kBlocks, block);
  return result;
}

void Machine::bind(unsigned name, Block block) {
  block.live = true;
  block.born = ++allocations_;
  if (name == 0 || blocks_[name].live) return;  // generators bind each name once
  blocks_[name] = block;
  fill_new(block, name);
}

// New memory has unknown content, so each block gets bytes of its own.
void Machine::fill_new(const Block& block, unsigned name) {
  if (block.kind == Kind::kRegistered || block.kind == Kind::kPageable) return;
  if (block.host) {
    std::memset(reinterpret_cast<void*>(block.host), static_cast<int>(0x40 + name), block.size);
    return;
  }
  f_.cuMemsetD8_v2(block.device, static_cast<unsigned char>(0x40 + name), block.size);
  f_.cuCtxSynchronize();
}

void Machine::bury(Block& block) {
  block.live = false;
  block.died = allocations_;
}

// Beside a driver's host memory, and beside the program's own memory, one process may have other
// memory and another process none.
bool Machine::beside_host_memory(const Op& op, const Spot& at) const {
  if (op.form % 5 != 2 || at.name == 0 || pick(kSizes, op.size) > kMostRegistered) return false;
  const Block& block = blocks_[at.name];
  const bool guarded = block.region != 0 && block.kind != Kind::kMapped;
  return !block.live || (!guarded && !at.inside);
}

CUresult Machine::do_register(const Op& op) {
  constexpr std::uint64_t kStarts[] = {0, 4096, 1, 16, 64};
  Block block;
  block.kind = Kind::kRegistered;
  block.size = pick(kSizes, op.size);
  const unsigned form = op.form % 5;
  const Spot at = spot(op.ref, op.at);
  if (form == 0 || form == 1) {
    const std::uint64_t start = pick(kStarts, op.value);
    block.region_size = up(std::min(block.size, kMostRegistered) + start + 1, kPage);
    block.region = host_region(block.region_size, form ? PROT_READ : PROT_READ | PROT_WRITE);
    block.host = block.region + start;
  } else {
    block.host = form == 2 ? at.address : form == 3 ? 0 : reinterpret_cast<std::uint64_t>(buffer_);
  }
  block.device = block.host;
  block.read_only = form == 1 || (op.flags & CU_MEMHOSTREGISTER_READ_ONLY);
  const CUresult result =
      f_.cuMemHostRegister_v2(reinterpret_cast<void*>(block.host), block.size, op.flags & 31u);
  const unsigned name = op.name % kBlocks;
  if (result != CUDA_SUCCESS && form <= 1 && block.size <= kMostRegistered) {
    block.kind = Kind::kPageable;
  } else if (result != CUDA_SUCCESS || name == 0 || blocks_[name].live) {
    if (result == CUDA_SUCCESS) f_.cuMemHostUnregister(reinterpret_cast<void*>(block.host));
    end_region(block.region, block.region_size);
    return result;
  }
  // The pointer for the device; a driver may give none for this memory.
  CUdeviceptr device = 0;
  if (result == CUDA_SUCCESS &&
      f_.cuMemHostGetDevicePointer_v2(&device, reinterpret_cast<void*>(block.host), 0) ==
          CUDA_SUCCESS) {
    block.device = device;
  }
  bind(name, block);
  return result;
}

CUresult Machine::unregister(const Op& op, const Spot& at) {
  const CUresult result = f_.cuMemHostUnregister(reinterpret_cast<void*>(at.address));
  Block& block = blocks_[at.name];
  if (result != CUDA_SUCCESS || at.name == 0) return result;
  (void)op;
  // A registration of another block's bytes has no memory of its own.
  for (Block& other : blocks_) {
    if (!other.live || other.kind != Kind::kRegistered || other.host != at.address) continue;
    if (other.region) {
      other.kind = Kind::kPageable;
    } else {
      bury(other);
    }
    return result;
  }
  bury(block);
  return result;
}

CUresult Machine::map(const Op& op) {
  Block block;
  block.kind = Kind::kMapped;
  const unsigned granules = 1 + op.size % 3u;
  const bool two = op.form & 2, beyond = op.form & 1;
  const std::uint64_t piece = granules * kGranule;
  block.size = two ? 2 * piece : piece;
  block.region_size = block.size + (beyond ? kGranule : 0);
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  const unsigned which = op.which % 4;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (op.which & 4) prop.location.id = devices_ - 1;
  if (which == 1) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (which == 2) prop.allocFlags.gpuDirectRDMACapable = 1;
  block.of_host = which == 3;
  if (which == 3) prop.location.id = 0;
  if (which == 3) prop.location.type = static_cast<CUmemLocationType>(3);  // HOST_NUMA
  // At first all devices have access, so that the machine can write the first bytes.
  CUmemAccessDesc access[2] = {};
  for (int i = 0; i < 2; ++i) {
    access[i].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access[i].location.id = i;
    access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  CUdeviceptr base = 0;
  CUresult result = f_.cuMemAddressReserve(&base, block.region_size, 0, 0, 0);
  block.device = block.region = base;
  for (unsigned i = 0; i < (two ? 2u : 1u) && result == CUDA_SUCCESS; ++i) {
    result = f_.cuMemCreate(&block.handles[i], piece, &prop, 0);
    if (result == CUDA_SUCCESS)
      result = f_.cuMemMap(base + i * piece, piece, 0, block.handles[i], 0);
  }
  const std::size_t all = devices_ > 1 ? 2 : 1;
  if (result == CUDA_SUCCESS) result = f_.cuMemSetAccess(base, block.size, access, all);
  const unsigned name = op.name % kBlocks;
  if (result != CUDA_SUCCESS || name == 0 || blocks_[name].live) return result;
  if (current_ == 3) f_.cuCtxSetCurrent(contexts_[0]);
  bind(name, block);
  if (current_ == 3) f_.cuCtxSetCurrent(nullptr);
  constexpr CUmemAccess_flags kFlags[] = {CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                                          CU_MEM_ACCESS_FLAGS_PROT_READ,
                                          CU_MEM_ACCESS_FLAGS_PROT_NONE};
  access[0].flags = kFlags[op.value % 3];
  if (op.form & 4) access[0].location.id = devices_ - 1;
  // The CPU copies such memory, and crashes.
  blocks_[name].sealed = which == 3 && op.value % 3 == 2;
  return op.value % 3 ? f_.cuMemSetAccess(base, block.size, access, 1) : result;
}

CUresult Machine::unmap(Block& block) {
  CUresult result = f_.cuMemUnmap(block.device, block.size);
  for (const auto handle : block.handles) {
    if (handle && result == CUDA_SUCCESS) result = f_.cuMemRelease(handle);
  }
  if (result == CUDA_SUCCESS) result = f_.cuMemAddressFree(block.region, block.region_size);
  bury(block);
  return result;
}

CUresult Machine::release(Block& block) {
  bury(block);
  switch (block.kind) {
    case Kind::kPlain:
    case Kind::kPitched:
    case Kind::kPooled:
      return f_.cuMemFree_v2(block.device);
    case Kind::kHost:
      return f_.cuMemFreeHost(reinterpret_cast<void*>(block.host));
    case Kind::kRegistered: {
      const CUresult result = f_.cuMemHostUnregister(reinterpret_cast<void*>(block.host));
      end_region(block.region, block.region_size);
      return result;
    }
    case Kind::kPageable:
      end_region(block.region, block.region_size);
      return CUDA_SUCCESS;
    case Kind::kMapped:
      return unmap(block);
    default:
      return CUDA_SUCCESS;
  }
}

bool Machine::finish() {
  f_.cuCtxSetCurrent(contexts_[0]);
  bool clean = !broken_ && f_.cuCtxSynchronize() == CUDA_SUCCESS;
  // Registrations inside other memory end first.
  for (Block& block : blocks_) {
    if (block.live && block.kind == Kind::kRegistered && !block.region) {
      clean = clean && release(block) == CUDA_SUCCESS;
    }
  }
  for (Block& block : blocks_) {
    if (block.live) clean = clean && release(block) == CUDA_SUCCESS;
  }
  f_.cuDeviceSetMemPool(0, default_pool_);
  for (CUmemoryPool pool : pools_) {
    if (pool) clean = clean && f_.cuMemPoolDestroy(pool) == CUDA_SUCCESS;
  }
  clean = clean && f_.cuCtxSynchronize() == CUDA_SUCCESS;
  if (clean) reset_pool();
  return clean;
}

// The default pool outlives a program, so its attributes are reset.
void Machine::reset_pool() {
  std::uint64_t zero = 0;
  int one = 1;
  f_.cuMemPoolSetAttribute(default_pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero);
  for (int attribute = 1; attribute <= 3; ++attribute) {
    f_.cuMemPoolSetAttribute(default_pool_, static_cast<CUmemPool_attribute>(attribute), &one);
  }
  f_.cuMemPoolTrimTo(default_pool_, 0);
  f_.cuMemPoolSetAttribute(default_pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
  f_.cuMemPoolSetAttribute(default_pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero);
}

CUstream Machine::stream(std::uint8_t form) const {
  const CUstream streams[] = {nullptr, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, stream_};
  return streams[form % 4];
}

// The next call must find the queued work done.
CUresult Machine::settle(CUresult result, CUstream stream) {
  if (result != CUDA_SUCCESS) return result;
  const CUresult done = f_.cuStreamSynchronize(stream);
  return is_sticky(done) ? done : result;
}

}  // namespace cuvmm::fuzz::plain
