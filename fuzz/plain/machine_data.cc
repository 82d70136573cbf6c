// Fills and copies of every shape, within what the program has.
#include <algorithm>
#include <cstring>

#include "fuzz/plain/machine.h"

namespace cuvmm::fuzz::plain {

namespace {

constexpr std::uint64_t kBuffer = 64 << 20;
constexpr std::uint64_t kPattern = 1 << 14;  ///< bytes of the buffer that have a pattern

using Wide = unsigned __int128;

// Bytes from the first to behind the last of rows; all ones if they are too many.
std::uint64_t extent_of(std::uint64_t width, std::uint64_t height, std::uint64_t pitch,
                        std::uint64_t slices = 1, std::uint64_t slice_pitch = 0) {
  if (width == 0 || height == 0 || slices == 0) return 0;
  const Wide out = Wide(width) + Wide(height - 1) * pitch + Wide(slices - 1) * slice_pitch;
  return out >> 62 ? ~0ull : static_cast<std::uint64_t>(out);
}

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
      return fill(op, step);
    case Code::kFill2D:
      return fill_rows(op, step);
    case Code::kCopy:
      return copy(op, step);
    case Code::kCopy2D:
      return copy_rows(op, step);
    default:
      return copy_slices(op, step);
  }
}

// Touching what is not the program's is left out but in wild programs, and nothing is known of any
// bytes after that. So it is with a copy whose sides overlap.
bool Machine::allowed(const Op& op, const Side& to, const Side* from, Step& step) {
  const auto fits = [&](const Side& side) {
    if (side.extent == 0) return true;
    if (side.spot.name == 0) {
      const auto begin = reinterpret_cast<std::uint64_t>(buffer_);
      return side.spot.address >= begin && side.spot.address - begin < kBuffer &&
             side.extent <= kBuffer - (side.spot.address - begin);
    }
    const Block& block = blocks_[side.spot.name];
    return block.live && side.spot.offset <= block.size &&
           side.extent <= block.size - side.spot.offset;
  };
  const auto of = pick(kLengths, op.size).of;
  const bool aligned = of == Length::kToPage || of == Length::kTo64K || of == Length::kTo2M;
  step.outside = aligned || to.spot.by_layout || (from && from->spot.by_layout);
  const bool good = fits(to) && (!from || fits(*from));
  // A write to what is not to be written faults; a host's address is the device's on all that is
  // recorded, but need not be.
  const auto unfit = [&](const Side& side, bool written) {
    const Block& block = blocks_[side.spot.name];
    return side.spot.name && side.extent &&
           (block.sealed || (written && block.read_only) ||
            (block.host && block.host != block.device));
  };
  if (unfit(to, true) || (from && unfit(*from, false))) {
    step.answer.how = Answer::How::kLeftOut;
    return false;
  }
  // The recorder's own memory is never left, nor what was freed.
  const auto dangerous = [&](const Side& side) {
    if (side.extent == 0 || fits(side)) return false;
    if (side.spot.name == 0) return side.spot.address > 4096 || side.extent > kBuffer;
    const Block& block = blocks_[side.spot.name];
    return !block.live || block.host != 0;
  };
  if (!good && (!(op.faults & kWild) || dangerous(to) || (from && dangerous(*from)))) {
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

// What a copy left in memory that the CPU can read: the machine's buffer, or a block of the host's.
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

CUresult Machine::fill(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at);
  describe(at, step);
  const unsigned element = op.which % 3u;
  const std::uint64_t count = length(at, op.size) >> element;
  const Side to{at, extent_of(count << element, 1, 0)};
  if (!allowed(op, to, nullptr, step)) return CUDA_SUCCESS;
  const auto value = static_cast<unsigned>(op.value * 0x01030507u);
  const auto v8 = static_cast<unsigned char>(value);
  const auto v16 = static_cast<unsigned short>(value);
  CUresult result = CUDA_SUCCESS;
  if (op.form & 1) {
    CUstream on = stream(op.form >> 1);
    if (element == 0) result = f_.cuMemsetD8Async(at.address, v8, count, on);
    if (element == 1) result = f_.cuMemsetD16Async(at.address, v16, count, on);
    if (element == 2) result = f_.cuMemsetD32Async(at.address, value, count, on);
    result = settle(result, on);
  } else {
    if (element == 0) result = f_.cuMemsetD8_v2(at.address, v8, count);
    if (element == 1) result = f_.cuMemsetD16_v2(at.address, v16, count);
    if (element == 2) result = f_.cuMemsetD32_v2(at.address, value, count);
    result = settle(result, nullptr);
  }
  look(to, to.extent, result, step);
  return result;
}

CUresult Machine::fill_rows(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at);
  describe(at, step);
  const unsigned element = op.which % 3u;
  const std::uint64_t width = length(at, op.size) >> element;
  const std::uint64_t height = pick(kHeights, op.height);
  const std::uint64_t pitch = pitch_of(op.pitch, width << element, at.name);
  const Side to{at, extent_of(width << element, height, pitch)};
  if (!allowed(op, to, nullptr, step)) return CUDA_SUCCESS;
  const auto value = static_cast<unsigned>(op.value * 0x01030507u);
  const auto v8 = static_cast<unsigned char>(value);
  const auto v16 = static_cast<unsigned short>(value);
  const std::uint64_t to_address = at.address;
  CUresult result = CUDA_SUCCESS;
  CUstream on = op.form & 1 ? stream(op.form >> 1) : nullptr;
  if (op.form & 1) {
    if (element == 0) result = f_.cuMemsetD2D8Async(to_address, pitch, v8, width, height, on);
    if (element == 1) result = f_.cuMemsetD2D16Async(to_address, pitch, v16, width, height, on);
    if (element == 2) result = f_.cuMemsetD2D32Async(to_address, pitch, value, width, height, on);
  } else {
    if (element == 0) result = f_.cuMemsetD2D8_v2(to_address, pitch, v8, width, height);
    if (element == 1) result = f_.cuMemsetD2D16_v2(to_address, pitch, v16, width, height);
    if (element == 2) result = f_.cuMemsetD2D32_v2(to_address, pitch, value, width, height);
  }
  result = settle(result, on);
  look(to, to.extent, result, step);
  return result;
}

CUresult Machine::copy(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at), from_at = spot(op.ref2, op.at2);
  describe(at, step);
  step.kind2 = op.ref2 % kBlocks ? blocks_[op.ref2 % kBlocks].kind : Kind::kNone;
  const std::uint64_t size = length(op.ref % kBlocks ? at : from_at, op.size);
  const Side to{at, size}, from{from_at, size};
  if (!allowed(op, to, &from, step)) return CUDA_SUCCESS;
  const std::uint64_t d = at.address, s = from_at.address;
  auto* const host_to = reinterpret_cast<void*>(d);
  const auto* const host_from = reinterpret_cast<const void*>(s);
  CUresult result = CUDA_SUCCESS;
  CUstream on = stream(op.form >> 4);
  switch (op.form % 8) {
    case 0:
      result = f_.cuMemcpyHtoD_v2(d, host_from, size);
      break;
    case 1:
      result = f_.cuMemcpyDtoH_v2(host_to, s, size);
      break;
    case 2:
      result = f_.cuMemcpyDtoD_v2(d, s, size);
      break;
    case 3:
      result = f_.cuMemcpy(d, s, size);
      break;
    case 4:
      result = settle(f_.cuMemcpyHtoDAsync_v2(d, host_from, size, on), on);
      break;
    case 5:
      result = settle(f_.cuMemcpyDtoHAsync_v2(host_to, s, size, on), on);
      break;
    case 6:
      result = settle(f_.cuMemcpyDtoDAsync_v2(d, s, size, on), on);
      break;
    default:
      result = settle(f_.cuMemcpyAsync(d, s, size, on), on);
  }
  result = settle(result, nullptr);
  look(to, size, result, step);
  return result;
}

namespace {

struct Types {
  unsigned to, from;
};
// HOST is 1, DEVICE 2, UNIFIED 4; 0 and 9 are none.
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

}  // namespace

CUresult Machine::copy_rows(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at), from_at = spot(op.ref2, op.at2);
  describe(at, step);
  step.kind2 = op.ref2 % kBlocks ? blocks_[op.ref2 % kBlocks].kind : Kind::kNone;
  CUDA_MEMCPY2D d{};
  d.WidthInBytes = length(op.ref % kBlocks ? at : from_at, op.size);
  d.Height = pick(kHeights, op.height);
  d.dstPitch = pitch_of(op.pitch, d.WidthInBytes, at.name);
  d.srcPitch = pitch_of(op.pitch2, d.WidthInBytes, from_at.name);
  // Offsets of rows and bytes, now and then.
  d.dstXInBytes = op.flags & 1 ? 16 : op.flags & 16 ? 1 : 0;
  d.srcXInBytes = op.flags & 2 ? 16 : 0;
  d.dstY = op.flags & 4 ? 1 : 0;
  d.srcY = op.flags & 8 ? 1 : 0;
  set_sides(d, pick(kTypes, op.which), at.address, from_at.address);
  const auto side = [&](const Spot& where, std::uint64_t x, std::uint64_t y, std::uint64_t pitch) {
    // A pitch of 0 stands for rows that follow each other.
    const std::uint64_t row = pitch ? pitch : d.WidthInBytes;
    const std::uint64_t extent = extent_of(d.WidthInBytes, d.Height, row);
    const Wide all = extent ? Wide(extent) + x + Wide(y) * row : 0;
    return Side{where, all >> 62 ? ~0ull : static_cast<std::uint64_t>(all)};
  };
  const Side to = side(at, d.dstXInBytes, d.dstY, d.dstPitch);
  const Side from = side(from_at, d.srcXInBytes, d.srcY, d.srcPitch);
  if (!allowed(op, to, &from, step)) return CUDA_SUCCESS;
  CUstream on = stream(op.form >> 4);
  CUresult result = CUDA_SUCCESS;
  const CUDA_MEMCPY2D* given = op.faults & kNullOut ? nullptr : &d;
  if (op.form % 3 == 0) result = settle(f_.cuMemcpy2D_v2(given), nullptr);
  if (op.form % 3 == 1) result = settle(f_.cuMemcpy2DUnaligned_v2(given), nullptr);
  if (op.form % 3 == 2) result = settle(f_.cuMemcpy2DAsync_v2(given, on), on);
  look(to, to.extent, result, step);
  return result;
}

CUresult Machine::copy_slices(const Op& op, Step& step) {
  const Spot at = spot(op.ref, op.at), from_at = spot(op.ref2, op.at2);
  describe(at, step);
  step.kind2 = op.ref2 % kBlocks ? blocks_[op.ref2 % kBlocks].kind : Kind::kNone;
  CUDA_MEMCPY3D d{};
  d.WidthInBytes = length(op.ref % kBlocks ? at : from_at, op.size);
  d.Height = pick(kHeights, op.height);
  d.Depth = pick(kHeights, op.depth);
  d.dstPitch = pitch_of(op.pitch, d.WidthInBytes, at.name);
  d.srcPitch = pitch_of(op.pitch2, d.WidthInBytes, from_at.name);
  const std::uint64_t heights[] = {d.Height, 0, d.Height + 1, d.Height ? d.Height - 1 : 0};
  d.dstHeight = pick(heights, op.value);
  d.srcHeight = pick(heights, op.value >> 2);
  d.dstXInBytes = op.flags & 1 ? 16 : 0;
  d.srcY = op.flags & 2 ? 1 : 0;
  d.dstZ = op.flags & 4 ? 1 : 0;
  d.srcLOD = op.flags & 8 ? 1 : 0;
  d.dstLOD = op.flags & 16 ? 1 : 0;
  if (op.flags & 32) d.reserved0 = buffer_;
  set_sides(d, pick(kTypes, op.which), at.address, from_at.address);
  const auto side = [&](const Spot& where, std::uint64_t x, std::uint64_t y, std::uint64_t z,
                        std::uint64_t pitch, std::uint64_t rows) {
    const Wide row = pitch ? pitch : d.WidthInBytes;
    const Wide slice = row * (rows ? rows : d.Height);
    if (slice >> 62) return Side{where, ~0ull};
    const std::uint64_t extent =
        extent_of(d.WidthInBytes, d.Height, static_cast<std::uint64_t>(row), d.Depth,
                  static_cast<std::uint64_t>(slice));
    const Wide all = extent ? Wide(extent) + x + y * row + z * slice : 0;
    return Side{where, all >> 62 ? ~0ull : static_cast<std::uint64_t>(all)};
  };
  const Side to = side(at, d.dstXInBytes, 0, d.dstZ, d.dstPitch, d.dstHeight);
  const Side from = side(from_at, 0, d.srcY, 0, d.srcPitch, d.srcHeight);
  if (!allowed(op, to, &from, step)) return CUDA_SUCCESS;
  CUstream on = stream(op.form >> 4);
  const CUDA_MEMCPY3D* given = op.faults & kNullOut ? nullptr : &d;
  const CUresult result = op.form % 2 ? settle(f_.cuMemcpy3DAsync_v2(given, on), on)
                                      : settle(f_.cuMemcpy3D_v2(given), nullptr);
  look(to, to.extent, result, step);
  return result;
}

}  // namespace cuvmm::fuzz::plain
