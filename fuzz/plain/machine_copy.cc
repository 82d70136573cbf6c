// SPDX-License-Identifier: Apache-2.0
// Makes copies of every shape: bytes, rows and slices, between contexts, in batches.
#include "fuzz/plain/extent.h"
#include "fuzz/plain/machine.h"

namespace cuvmm::fuzz::plain {

namespace {

struct Types {
  unsigned to, from;
};
// HOST is 1, DEVICE 2, UNIFIED 4; 0 and 9 do not exist.
constexpr Types kTypes[] = {{2, 1}, {1, 2}, {2, 2}, {4, 4}, {1, 1}, {4, 2},
                            {2, 4}, {1, 4}, {4, 1}, {2, 0}, {9, 2}};

template <class Descriptor>
void set_sides(Descriptor& d, const Types& types, std::uint64_t to, std::uint64_t from) {
  d.dstMemoryType = static_cast<CUmemorytype>(types.to);
  d.srcMemoryType = static_cast<CUmemorytype>(types.from);
  if (types.to == 1) d.dstHost = reinterpret_cast<void*>(to);
  if (types.to != 1) d.dstDevice = to;
  if (types.from == 1) d.srcHost = reinterpret_cast<const void*>(from);
  if (types.from != 1) d.srcDevice = from;
}

// The offset of a side's first byte from its address, and the distances of its rows and slices.
struct Layout {
  std::uint64_t x, y, z, pitch, rows;
};

// A pitch of 0 stands for rows, or slices, without gaps.
template <class Descriptor>
std::uint64_t reach(const Descriptor& d, const Layout& side) {
  const Wide row = side.pitch ? side.pitch : side.x + d.WidthInBytes;
  const Wide slice = row * (side.rows ? side.rows : side.y + d.Height);
  if (row >> 62 || slice >> 62) return ~0ull;
  std::uint64_t depth = 1;
  if constexpr (requires { d.Depth; }) depth = d.Depth;
  const std::uint64_t extent = extent_of(d.WidthInBytes, d.Height, static_cast<std::uint64_t>(row),
                                         depth, static_cast<std::uint64_t>(slice));
  return extent ? narrow(Wide(extent) + side.x + side.y * row + side.z * slice) : 0;
}

}  // namespace

CUresult Machine::copy(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at), from_at = spot(op.ref2, op.at2);
  describe(at, step);
  step.kind2 = kind_of(op.ref2);
  const std::uint64_t size = length(op.ref % kBlocks ? at : from_at, op.size);
  const Side to{at, size}, from{from_at, size};
  if (!allowed(op, to, &from, step)) return CUDA_SUCCESS;
  const std::uint64_t d = at.address, s = from_at.address;
  auto* const host_to = reinterpret_cast<void*>(d);
  const auto* const host_from = reinterpret_cast<const void*>(s);
  CUstream on = stream(op.form >> 4);
  const auto make = [&] {
    switch (op.form % 8) {
      case 0:
        return f_.cuMemcpyHtoD_v2(d, host_from, size);
      case 1:
        return f_.cuMemcpyDtoH_v2(host_to, s, size);
      case 2:
        return f_.cuMemcpyDtoD_v2(d, s, size);
      case 3:
        return f_.cuMemcpy(d, s, size);
      case 4:
        return f_.cuMemcpyHtoDAsync_v2(d, host_from, size, on);
      case 5:
        return f_.cuMemcpyDtoHAsync_v2(host_to, s, size, on);
      case 6:
        return f_.cuMemcpyDtoDAsync_v2(d, s, size, on);
      default:
        return f_.cuMemcpyAsync(d, s, size, on);
    }
  };
  CUresult result = make();
  if (op.form % 8 >= 4) result = settle(result, on);
  result = settle(result, nullptr);
  look(to, size, result, step);
  return result;
}

CUresult Machine::make(const Op& op, const CUDA_MEMCPY2D& d) {
  const CUDA_MEMCPY2D* given = op.faults & kNullOut ? nullptr : &d;
  CUstream on = stream(op.form >> 4);
  if (op.form % 3 == 0) return settle(f_.cuMemcpy2D_v2(given), nullptr);
  if (op.form % 3 == 1) return settle(f_.cuMemcpy2DUnaligned_v2(given), nullptr);
  return settle(f_.cuMemcpy2DAsync_v2(given, on), on);
}

CUresult Machine::make(const Op& op, const CUDA_MEMCPY3D& d) {
  const CUDA_MEMCPY3D* given = op.faults & kNullOut ? nullptr : &d;
  CUstream on = stream(op.form >> 4);
  return op.form % 2 ? settle(f_.cuMemcpy3DAsync_v2(given, on), on)
                     : settle(f_.cuMemcpy3D_v2(given), nullptr);
}

// `form` also has the contexts of both sides: 2 bits for each.
CUresult Machine::make(const Op& op, CUDA_MEMCPY3D_PEER& d) {
  d.dstContext = context(op.form >> 1);
  d.srcContext = context(op.form >> 3);
  const CUDA_MEMCPY3D_PEER* given = op.faults & kNullOut ? nullptr : &d;
  CUstream on = stream(op.form >> 5);
  return op.form % 2 ? settle(f_.cuMemcpy3DPeerAsync(given, on), on)
                     : settle(f_.cuMemcpy3DPeer(given), nullptr);
}

template <class Descriptor>
CUresult Machine::copy_by_descriptor(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at), from_at = spot(op.ref2, op.at2);
  describe(at, step);
  step.kind2 = kind_of(op.ref2);
  Descriptor d{};
  d.WidthInBytes = length(op.ref % kBlocks ? at : from_at, op.size);
  d.Height = pick(kHeights, op.height);
  d.dstPitch = pitch_of(op.pitch, d.WidthInBytes, at.name);
  d.srcPitch = pitch_of(op.pitch2, d.WidthInBytes, from_at.name);
  // Sometimes rows and bytes have an offset.
  d.dstXInBytes = op.flags & 1 ? 16 : op.flags & 16 ? 1 : 0;
  d.srcXInBytes = op.flags & 2 ? 16 : 0;
  d.dstY = op.flags & 4 ? 1 : 0;
  d.srcY = op.flags & 8 ? 1 : 0;
  Layout to_layout{d.dstXInBytes, d.dstY, 0, d.dstPitch, 0};
  Layout from_layout{d.srcXInBytes, d.srcY, 0, d.srcPitch, 0};
  if constexpr (requires { d.Depth; }) {
    d.Depth = pick(kHeights, op.depth);
    const std::uint64_t heights[] = {d.Height, 0, d.Height + 1, d.Height ? d.Height - 1 : 0};
    to_layout.rows = d.dstHeight = pick(heights, op.value & 3);
    from_layout.rows = d.srcHeight = pick(heights, (op.value >> 2) & 3);
    to_layout.z = d.dstZ = op.value & 16 ? 1 : 0;
    from_layout.z = d.srcZ = op.value & 32 ? 1 : 0;
    d.srcLOD = op.value & 64 ? 1 : 0;
    d.dstLOD = op.value & 128 ? 1 : 0;
    if constexpr (requires { d.reserved0; }) {
      if (op.flags & 32) d.reserved0 = buffer_;
    }
  }
  set_sides(d, pick(kTypes, op.which), at.address, from_at.address);
  const Side to{at, reach(d, to_layout)}, from{from_at, reach(d, from_layout)};
  if (!allowed(op, to, &from, step)) return CUDA_SUCCESS;
  const CUresult result = make(op, d);
  look(to, to.extent, result, step);
  return result;
}

template CUresult Machine::copy_by_descriptor<CUDA_MEMCPY2D>(const Op&, Step&);
template CUresult Machine::copy_by_descriptor<CUDA_MEMCPY3D>(const Op&, Step&);
template CUresult Machine::copy_by_descriptor<CUDA_MEMCPY3D_PEER>(const Op&, Step&);

CUresult Machine::copy_peer(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at), from_at = spot(op.ref2, op.at2);
  describe(at, step);
  step.kind2 = kind_of(op.ref2);
  const std::uint64_t size = length(op.ref % kBlocks ? at : from_at, op.size);
  const Side to{at, size}, from{from_at, size};
  if (!allowed(op, to, &from, step)) return CUDA_SUCCESS;
  CUcontext there = context(op.form >> 1), here = context(op.form >> 3);
  CUstream on = stream(op.form >> 5);
  CUresult result =
      op.form & 1
          ? settle(f_.cuMemcpyPeerAsync(at.address, there, from_at.address, here, size, on), on)
          : f_.cuMemcpyPeer(at.address, there, from_at.address, here, size);
  result = settle(result, nullptr);
  look(to, size, result, step);
  return result;
}

// Up to four copies of equal size, one behind the other on both sides. The flags choose the
// attributes: their number, the copies with which they begin, and whether the arrays exist.
CUresult Machine::copy_batch(const Op& op, Step& step) {
  constexpr std::size_t kMost = 4;
  const Spot at = spot(op.ref, op.at), from_at = spot(op.ref2, op.at2);
  describe(at, step);
  step.kind2 = kind_of(op.ref2);
  const std::size_t count = op.depth % (kMost + 1u);
  const std::uint64_t all = length(op.ref % kBlocks ? at : from_at, op.size);
  const std::uint64_t size = count ? all / count : 0;
  const Side to{at, size * count}, from{from_at, size * count};
  if (!allowed(op, to, &from, step)) return CUDA_SUCCESS;
  if (!f_.cuMemcpyBatchAsync_v2) {  // the driver is older than the recorded driver, so there is no
                                    // answer to compare
    step.answer.how = Answer::How::kNotRun;
    step.outside = true;
    return CUDA_SUCCESS;
  }
  CUdeviceptr tos[kMost] = {}, sources[kMost] = {};
  std::size_t sizes[kMost] = {};
  for (std::size_t i = 0; i < count; ++i) {
    tos[i] = at.address + i * size;
    sources[i] = from_at.address + i * size;
    sizes[i] = size;
  }
  if (op.value & 128 && count > 1) sizes[count - 1] = 0;
  constexpr unsigned kOrders[] = {1, 2, 3, 1, 2, 3, 0, 4};
  constexpr int kLocations[] = {0, 1, 2, 3};
  BatchAttributes attributes[kMost];
  for (BatchAttributes& attribute : attributes) {
    attribute.order = pick(kOrders, op.which);
    attribute.to.type = static_cast<CUmemLocationType>(pick(kLocations, op.value));
    attribute.from.type = static_cast<CUmemLocationType>(pick(kLocations, op.value >> 2));
    attribute.to.id = op.value & 16 ? 99 : 0;
    attribute.flags = op.value >> 5 & 3;
  }
  constexpr std::size_t kFirsts[][2] = {{0, 1}, {0, 0}, {1, 2}, {0, 9}};
  std::size_t firsts[kMost] = {};
  for (std::size_t i = 0; i < 2; ++i) firsts[i] = kFirsts[op.flags % 4u][i];
  constexpr std::size_t kCounts[] = {1, 2, 0, 3};
  CUstream on = stream(op.form);
  const CUresult result = f_.cuMemcpyBatchAsync_v2(
      op.faults & kNullOut ? nullptr : tos, sources, op.faults & kNullOut2 ? nullptr : sizes, count,
      op.flags & 16 ? nullptr : attributes, op.flags & 32 ? nullptr : firsts,
      kCounts[(op.flags >> 2) & 3], on);
  // Copies before a refused copy are made all the same, at an unknown time.
  if (result != CUDA_SUCCESS && count > 1) {
    tainted_ = true;
    f_.cuStreamSynchronize(on);
  }
  const CUresult settled = settle(result, on);
  look(to, to.extent, settled, step);
  return settled;
}

}  // namespace cuvmm::fuzz::plain
