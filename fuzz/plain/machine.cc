// The life of memory: how it is made, placed and freed.
#include "fuzz/plain/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::uint64_t kGranule = 2 << 20;
constexpr std::uint64_t kBuffer = 64 << 20;
constexpr std::uint64_t kMostRegistered = 4 << 20;

std::uint64_t up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

std::uint64_t host_region(std::uint64_t size, int protection) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 0;
  std::memset(at, 0x11, std::min<std::uint64_t>(size, 1 << 20));
  if (protection != (PROT_READ | PROT_WRITE)) mprotect(at, size, protection);
  return reinterpret_cast<std::uint64_t>(at);
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
}

Step Machine::step(const Op& op) {
  Step step;
  step.answer.how = Answer::How::kDone;
  CUresult result = CUDA_SUCCESS;
  if (op.code <= Code::kUnmap) {
    result = memory(op, step);
  } else if (op.code <= Code::kAccess) {
    result = query(op, step);
  } else if (op.code <= Code::kCopy3D) {
    result = data(op, step);
  } else if (op.code < Code::kCount) {
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
  // Where something else may be by now, or lie beside the block, nothing is ended.
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
      // Whether a range of terabytes meets other locked memory is a matter of the layout.
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
      // The current pool may be another one; what matters is that something came from it.
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

// What memory holds when it is new is nobody's affair: each block gets bytes of its own.
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

CUresult Machine::do_register(const Op& op) {
  constexpr std::uint64_t kStarts[] = {0, 4096, 1, 16, 64};
  Block block;
  block.kind = Kind::kRegistered;
  block.size = pick(kSizes, op.size);
  const unsigned form = op.form % 5;
  const Spot at = spot(op.ref, op.at);
  if (form == 0 || form == 1) {
    const std::uint64_t start = pick(kStarts, op.value);
    block.region_size = up(std::min(block.size, kMostRegistered) + start + 1, 4096);
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
    if (block.region) munmap(reinterpret_cast<void*>(block.region), block.region_size);
    return result;
  }
  // The pointer for the device; a driver may have none for it.
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
  // Whose memory it is: a registration of another block's bytes has no memory of its own.
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
  if (which == 1) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  if (which == 2) prop.allocFlags.gpuDirectRDMACapable = 1;
  if (which == 3) prop.location.type = static_cast<CUmemLocationType>(3);  // HOST_NUMA
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr base = 0;
  CUresult result = f_.cuMemAddressReserve(&base, block.region_size, 0, 0, 0);
  block.device = block.region = base;
  for (unsigned i = 0; i < (two ? 2u : 1u) && result == CUDA_SUCCESS; ++i) {
    result = f_.cuMemCreate(&block.handles[i], piece, &prop, 0);
    if (result == CUDA_SUCCESS)
      result = f_.cuMemMap(base + i * piece, piece, 0, block.handles[i], 0);
  }
  if (result == CUDA_SUCCESS) result = f_.cuMemSetAccess(base, block.size, &access, 1);
  const unsigned name = op.name % kBlocks;
  if (result != CUDA_SUCCESS || name == 0 || blocks_[name].live) return result;
  if (current_ == 3) f_.cuCtxSetCurrent(contexts_[0]);
  bind(name, block);
  if (current_ == 3) f_.cuCtxSetCurrent(nullptr);
  constexpr CUmemAccess_flags kFlags[] = {CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                                          CU_MEM_ACCESS_FLAGS_PROT_READ,
                                          CU_MEM_ACCESS_FLAGS_PROT_NONE};
  access.flags = kFlags[op.value % 3];
  // Of such memory the CPU makes the copies, and dies.
  blocks_[name].sealed = which == 3 && op.value % 3 == 2;
  return op.value % 3 ? f_.cuMemSetAccess(base, block.size, &access, 1) : result;
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
  const auto region = [&] {
    if (block.region) munmap(reinterpret_cast<void*>(block.region), block.region_size);
  };
  switch (block.kind) {
    case Kind::kPlain:
    case Kind::kPitched:
    case Kind::kPooled:
      return f_.cuMemFree_v2(block.device);
    case Kind::kHost:
      return f_.cuMemFreeHost(reinterpret_cast<void*>(block.host));
    case Kind::kRegistered: {
      const CUresult result = f_.cuMemHostUnregister(reinterpret_cast<void*>(block.host));
      region();
      return result;
    }
    case Kind::kPageable:
      region();
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
  // What is registered inside other memory goes first.
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

// The default pool outlives a program: it is to begin as it was.
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

// What was queued is to be done before the next call.
CUresult Machine::settle(CUresult result, CUstream stream) {
  if (result != CUDA_SUCCESS) return result;
  const CUresult done = f_.cuStreamSynchronize(stream);
  return is_sticky(done) ? done : result;
}

Machine::Spot Machine::spot(std::uint8_t ref, std::uint8_t at) const {
  Spot out;
  out.name = ref % kBlocks;
  if (out.name == 0) {
    out.address = pick(kNowhere, at);
    if (out.address == kPageableBuffer) out.address = reinterpret_cast<std::uint64_t>(buffer_);
    return out;
  }
  const Block& block = blocks_[out.name];
  const std::uint64_t base = block.device, end = base + block.size;
  const Place& place = pick(kPlaces, at);
  std::uint64_t from = base;
  if (place.anchor == Anchor::kMiddle) from = base + block.size / 2;
  if (place.anchor == Anchor::kEnd) from = end;
  if (place.anchor == Anchor::kEnd512) from = up(end, 512);
  if (place.anchor == Anchor::kEnd4K) from = up(end, 4096);
  if (place.anchor == Anchor::kEnd64K) from = up(end, 65536);
  if (place.anchor == Anchor::kEnd2M) from = up(end, kGranule);
  out.address = from + static_cast<std::uint64_t>(place.distance);
  out.offset = out.address - base;
  out.inside = out.offset < block.size;
  out.near = out.offset < block.size || (out.offset == 0);
  out.by_layout = place.anchor >= Anchor::kEnd4K && block.kind != Kind::kMapped;
  return out;
}

void Machine::describe(const Spot& at, Step& step) const {
  const Block& block = blocks_[at.name];
  step.kind = at.name ? block.kind : Kind::kNone;
  if (at.name == 0) return;
  step.dead = !block.live;
  // What was freed may be another's by now; so may what lies beside a block.
  step.outside =
      block.live ? !at.near || at.by_layout : block.died != allocations_ || at.offset != 0;
}

std::uint64_t Machine::length(const Spot& at, std::uint8_t index) const {
  const Length& length = pick(kLengths, index);
  const Block& block = blocks_[at.name];
  const std::uint64_t size = at.name ? block.size : 65536;
  const std::uint64_t rest = at.offset < size ? size - at.offset : 0;
  switch (length.of) {
    case Length::kRest:
      return rest + length.bytes;
    case Length::kHalf:
      return rest / 2 + length.bytes;
    case Length::kToPage:
      return up(at.address + rest, 4096) - at.address + length.bytes;
    case Length::kTo64K:
      return up(at.address + rest, 65536) - at.address + length.bytes;
    case Length::kTo2M:
      return up(at.address + rest, kGranule) - at.address + length.bytes;
    default:
      return length.bytes;
  }
}

std::uint32_t Machine::pointer_value(std::uint64_t pointer, unsigned first) const {
  if (pointer == 0) return 0;
  const auto in = [&](unsigned name) -> std::uint32_t {
    const Block& block = blocks_[name];
    if (name == 0 || block.kind == Kind::kNone) return 0;
    for (const std::uint64_t base : {block.device, block.host, block.region}) {
      if (base && pointer >= base && pointer - base < std::max<std::uint64_t>(1, block.size)) {
        const bool host = base == block.host && base != block.device;
        return 0x80000000u | (name << 24) | static_cast<std::uint32_t>(pointer - base) |
               (host ? 0x40000000u : 0u);
      }
    }
    return 0;
  };
  if (const std::uint32_t value = in(first)) return value;
  for (unsigned name = 1; name < kBlocks; ++name) {
    if (!blocks_[name].live) continue;
    if (const std::uint32_t value = in(name)) return value;
  }
  return 0x7ffffff0;  // elsewhere
}

}  // namespace cuvmm::fuzz::plain
