// SPDX-License-Identifier: Apache-2.0
// Decides which memory fills and copies may touch, reads their result, and makes fills of every
// shape.
#include <algorithm>
#include <cstring>

#include "fuzz/plain/extent.h"
#include "fuzz/plain/machine.h"

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::uint64_t kPattern = 1 << 14;  ///< bytes of the buffer that have a pattern

std::uint32_t digest(const char* bytes, std::uint64_t size) {
  std::uint32_t out = 2166136261u;
  for (std::uint64_t i = 0; i < size; ++i) {
    out = (out ^ static_cast<unsigned char>(bytes[i])) * 16777619u;
  }
  return out | 1;
}

}  // namespace

void Machine::fill_buffer() {
  for (std::uint64_t i = 0; i < kPattern; i += 8) {
    const std::uint64_t word = i * 0x9e3779b97f4a7c15u;
    std::memcpy(buffer_ + i, &word, sizeof word);
  }
}

CUresult Machine::data(const Op& op, Step& step) {
  fill_buffer();
  switch (op.code) {
    case Code::kFill:
    case Code::kFill2D:
      return fill(op, step);
    case Code::kCopy:
      return copy(op, step);
    case Code::kCopy2D:
      return copy_by_descriptor<CUDA_MEMCPY2D>(op, step);
    case Code::kCopy3D:
      return copy_by_descriptor<CUDA_MEMCPY3D>(op, step);
    case Code::kCopy3DPeer:
      return copy_by_descriptor<CUDA_MEMCPY3D_PEER>(op, step);
    case Code::kCopyPeer:
      return copy_peer(op, step);
    default:
      return copy_batch(op, step);
  }
}

// Whether a side lies in the block of its name.
bool Machine::fits(const Side& side) const {
  if (side.extent == 0) return true;
  if (side.spot.name == 0) {
    const auto begin = reinterpret_cast<std::uint64_t>(buffer_);
    return side.spot.address >= begin && side.spot.address - begin < kBuffer &&
           side.extent <= kBuffer - (side.spot.address - begin);
  }
  const Block& block = blocks_[side.spot.name];
  return block.live && side.spot.offset <= block.size &&
         side.extent <= block.size - side.spot.offset;
}

// Calls never leave the recorder's own memory, freed memory, or host memory, because the memory
// beside it is mapped in some processes only.
bool Machine::dangerous(const Side& side) const {
  if (side.extent == 0 || fits(side)) return false;
  if (side.spot.name == 0) return side.spot.address > 4096 || side.extent > kBuffer;
  const Block& block = blocks_[side.spot.name];
  return !block.live || block.host != 0;
}

// A write to read-only memory faults. A host address may differ from the device's, although it does
// not on recorded machines.
bool Machine::unfit(const Side& side, bool written) const {
  const Block& block = blocks_[side.spot.name];
  return side.spot.name && side.extent &&
         (block.sealed || (written && block.read_only) ||
          (block.host && block.host != block.device));
}

// Driver 580.159.04 crashes in these calls (12 deaths in 90,000 calls): a batch between pageable
// memory and mapped host memory; a peer copy of mapped memory without a context.
bool Machine::deadly(const Op& op) const {
  const Block& a = blocks_[op.ref % kBlocks];
  const Block& b = blocks_[op.ref2 % kBlocks];
  if (op.code == Code::kBatch) {
    const auto pageable = [](const Block& block) {
      return block.kind == Kind::kNone || block.kind == Kind::kPageable;
    };
    return (a.of_host && pageable(b)) || (b.of_host && pageable(a));
  }
  const bool peers = op.code == Code::kCopyPeer || op.code == Code::kCopy3DPeer;
  const bool none = !context(op.form >> 1) || !context(op.form >> 3);
  return peers && none && (a.kind == Kind::kMapped || b.kind == Kind::kMapped);
}

// Only wild programs touch memory outside of their blocks, and after that the content of all bytes
// is unknown. The same holds for a copy whose sides overlap.
bool Machine::allowed(const Op& op, const Side& to, const Side* from, Step& step) {
  const auto of = pick(kLengths, op.size).of;
  const bool aligned = of == Length::kToPage || of == Length::kTo64K || of == Length::kTo2M;
  step.outside = aligned || to.spot.by_layout || (from && from->spot.by_layout);
  const bool good = fits(to) && (!from || fits(*from));
  const bool harmful = dangerous(to) || (from && dangerous(*from));
  if (deadly(op) || unfit(to, true) || (from && unfit(*from, false)) ||
      (!good && (harmful || !(op.faults & kWild)))) {
    step.answer.how = Answer::How::kLeftOut;
    return false;
  }
  const auto outside = [&](const Side& side) {
    return side.spot.name && side.extent && !fits(side);
  };
  step.outside = step.outside || outside(to) || (from && outside(*from));
  const auto overlap = [&] {
    if (!from || to.extent == 0 || from->extent == 0) return false;
    return to.spot.address < from->spot.address + from->extent &&
           from->spot.address < to.spot.address + to.extent;
  };
  const bool unknown = from && from->spot.name == 0 && from->extent > kPattern;
  if (step.outside || unknown || overlap()) tainted_ = true;
  return true;
}

// Looks at the result of a copy in memory that the CPU can read: the machine's buffer, or a block
// on the host.
void Machine::look(const Side& to, std::uint64_t extent, CUresult result, Step& step) const {
  if (result != CUDA_SUCCESS) return;
  step.value_open = tainted_;
  if (extent == 0) return;
  const Block& block = blocks_[to.spot.name];
  if (to.spot.name != 0 && (block.kind == Kind::kMapped || !block.host)) return;
  if (to.spot.name != 0 && to.spot.offset > block.size) return;
  const std::uint64_t room = to.spot.name ? block.size - to.spot.offset : kPattern;
  const std::uint64_t base = to.spot.name ? block.host + to.spot.offset : to.spot.address;
  step.answer.value =
      digest(reinterpret_cast<const char*>(base), std::min({extent, room, kPattern}));
}

std::uint64_t Machine::pitch_of(std::uint8_t index, std::uint64_t row, unsigned name) const {
  const Pitch& pitch = pick(kPitches, index);
  if (pitch.of == Pitch::kRow) return row + pitch.bytes;
  if (pitch.of == Pitch::kBlock) {
    const Block& block = blocks_[name];
    return (name && block.pitch ? block.pitch : row) + pitch.bytes;
  }
  return pitch.bytes;
}

// Fills one run of elements, or rows of them.
CUresult Machine::fill(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at);
  describe(at, step);
  const bool rows = op.code == Code::kFill2D;
  const unsigned element = op.which % 3u;
  const std::uint64_t width = length(at, op.size) >> element;
  const std::uint64_t height = rows ? pick(kHeights, op.height) : 1;
  const std::uint64_t pitch = rows ? pitch_of(op.pitch, width << element, at.name) : 0;
  const Side to{at, extent_of(width << element, height, pitch)};
  if (!allowed(op, to, nullptr, step)) return CUDA_SUCCESS;
  const bool queued = op.form & 1;
  CUstream on = queued ? stream(op.form >> 1) : nullptr;
  const auto make = [&](auto value, auto run, auto queue_run, auto rows_of, auto queue_rows) {
    if (rows) {
      return queued ? queue_rows(at.address, pitch, value, width, height, on)
                    : rows_of(at.address, pitch, value, width, height);
    }
    return queued ? queue_run(at.address, value, width, on) : run(at.address, value, width);
  };
  const unsigned value = op.value * 0x01030507u;
  CUresult result = CUDA_SUCCESS;
  if (element == 0) {
    result = make(static_cast<unsigned char>(value), f_.cuMemsetD8_v2, f_.cuMemsetD8Async,
                  f_.cuMemsetD2D8_v2, f_.cuMemsetD2D8Async);
  } else if (element == 1) {
    result = make(static_cast<unsigned short>(value), f_.cuMemsetD16_v2, f_.cuMemsetD16Async,
                  f_.cuMemsetD2D16_v2, f_.cuMemsetD2D16Async);
  } else {
    result = make(value, f_.cuMemsetD32_v2, f_.cuMemsetD32Async, f_.cuMemsetD2D32_v2,
                  f_.cuMemsetD2D32Async);
  }
  result = settle(result, on);
  look(to, to.extent, result, step);
  return result;
}

}  // namespace cuvmm::fuzz::plain
