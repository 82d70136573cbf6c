// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of arrays: rulebook/rules/array.def, line by line. No document says which
// context a call about an array needs, so without one, or with another device's, any answer is
// right.
#include <algorithm>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {
template <class Handle>
std::uint64_t number(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}
// How many levels halve the longest side down to one element.
unsigned most_levels(std::uint64_t width, std::uint64_t height) {
  unsigned levels = 1;
  for (std::uint64_t side = std::max(width, height); side > 1; side /= 2) ++levels;
  return levels;
}
}  // namespace

ArrayState::Array* Reference::array_of(CUarray handle) {
  const int found = ArrayState::find(arrays_.arrays, number(handle));
  return found < 0 ? nullptr : &arrays_.arrays[static_cast<std::size_t>(found)];
}
const ArrayState::Array* Reference::array_of(CUarray handle) const {
  return const_cast<Reference*>(this)->array_of(handle);
}
const ArrayState::Mipmap* Reference::mipmap_of(CUmipmappedArray handle) const {
  const int found = ArrayState::find(arrays_.mipmaps, number(handle));
  return found < 0 ? nullptr : &arrays_.mipmaps[static_cast<std::size_t>(found)];
}

Judgement Reference::judge(const calls::ArrayCreate& call, Actor actor) const {
  Judgement out;
  out.may_run_out = true;
  if (!call.pAllocateArray || actor.device < 0) out.loose = true;
  return out;
}
const char* Reference::accept(const calls::ArrayCreate& call, Actor actor) {
  if (!call.pAllocateArray) return "an array without a size";
  const ArrayState::Array* before = array_of(*call.pHandle);
  const std::uint64_t width = call.pAllocateArray->Width;
  const std::uint64_t rows = std::max<std::uint64_t>(call.pAllocateArray->Height, 1);
  const bool taken = before && before->live;
  arrays_.arrays.push_back(
      {number(*call.pHandle), actor.device, -1, 0, width, std::vector<int>(width * rows, -1)});
  return taken ? "the handle of an array that lives" : nullptr;
}

Judgement Reference::judge(const calls::MipmappedArrayCreate& call, Actor actor) const {
  Judgement out;
  out.may_run_out = true;
  if (!call.pMipmappedArrayDesc || actor.device < 0) out.loose = true;
  return out;
}
const char* Reference::accept(const calls::MipmappedArrayCreate& call, Actor actor) {
  if (!call.pMipmappedArrayDesc) return "an array without a size";
  const auto& size = *call.pMipmappedArrayDesc;
  const ArrayState::Mipmap* before = mipmap_of(*call.pHandle);
  const bool taken = before && before->live;
  // More levels than the sides can be halved are as many as can be.
  const unsigned levels = std::min(call.numMipmapLevels, most_levels(size.Width, size.Height));
  arrays_.mipmaps.push_back({number(*call.pHandle), size.Width,
                             std::max<std::uint64_t>(size.Height, 1), levels, actor.device});
  // The others have at most three rows.
  if (size.Height > 3) {
    arrays_.mipmaps.back().tiled = {
        size.Width, size.Height, static_cast<unsigned>(size.Depth), size.Flags, levels, true, true};
  }
  return taken ? "the handle of a mipmapped array that lives" : nullptr;
}

Judgement Reference::judge(const calls::MipmappedArrayGetLevel& call, Actor actor) const {
  Judgement out;
  const ArrayState::Mipmap* mipmap = mipmap_of(call.hMipmappedArray);
  if (!mipmap || actor.device != mipmap->device) {
    out.loose = true;
    // A level that nobody knows cannot be followed.
    out.uncovered = !mipmap;
    if (!mipmap) return out;
  }
  if (!mipmap->live) {
    out.add(Rule::kLevelArrayAlive);
  } else if (call.level >= mipmap->levels) {
    out.add(Rule::kLevelExists);
  }
  return out;
}
const char* Reference::accept(const calls::MipmappedArrayGetLevel& call) {
  const int index = ArrayState::find(arrays_.mipmaps, number(call.hMipmappedArray));
  const ArrayState::Mipmap& mipmap = arrays_.mipmaps[static_cast<std::size_t>(index)];
  for (const ArrayState::Array& array : arrays_.arrays) {
    if (!array.live || array.value != number(*call.pLevelArray)) continue;
    const bool again = array.mipmap == index && array.level == call.level;
    return again ? nullptr : "the handle of another array that lives";
  }
  std::uint64_t width = mipmap.width, rows = mipmap.height;
  for (unsigned level = 0; level < call.level; ++level) {
    width = std::max<std::uint64_t>(width / 2, 1);
    rows = std::max<std::uint64_t>(rows / 2, 1);
  }
  if (mipmap.tiled.followed) {
    ArrayState::Array array{number(*call.pLevelArray), mipmap.device, index, call.level, width, {}};
    array.tiled = mipmap.tiled;
    arrays_.arrays.push_back(std::move(array));
    return nullptr;
  }
  // An earlier handle of this level may have written it.
  std::vector<int> bytes(width * rows, -1);
  for (const ArrayState::Array& array : arrays_.arrays) {
    if (array.live && array.mipmap == index && array.level == call.level) bytes = array.bytes;
  }
  arrays_.arrays.push_back(
      {number(*call.pLevelArray), mipmap.device, index, call.level, width, std::move(bytes)});
  return nullptr;
}

Judgement Reference::judge(const calls::ArrayDestroy& call, Actor actor) const {
  Judgement out;
  const ArrayState::Array* array = array_of(call.hArray);
  if (!array) {
    out.loose = out.fatal = true;
    return out;
  }
  // No document says what the end of a level is.
  if (array->mipmap >= 0) out.uncovered = true;
  if (actor.device != array->device) out.loose = true;
  if (!array->live) out.add(Rule::kArrayDestroyOnce);
  return out;
}
const char* Reference::accept(const calls::ArrayDestroy& call) {
  if (ArrayState::Array* array = array_of(call.hArray)) array->live = false;
  return nullptr;
}

Judgement Reference::judge(const calls::MipmappedArrayDestroy& call, Actor actor) const {
  Judgement out;
  const ArrayState::Mipmap* mipmap = mipmap_of(call.hMipmappedArray);
  if (!mipmap) {
    out.loose = out.fatal = true;
    return out;
  }
  if (actor.device != mipmap->device) out.loose = true;
  if (!mipmap->live) out.add(Rule::kMipmapDestroyOnce);
  return out;
}
const char* Reference::accept(const calls::MipmappedArrayDestroy& call) {
  const int index = ArrayState::find(arrays_.mipmaps, number(call.hMipmappedArray));
  if (index < 0) return nullptr;
  arrays_.mipmaps[static_cast<std::size_t>(index)].live = false;
  for (ArrayState::Array& array : arrays_.arrays) {
    if (array.mipmap == index) array.live = false;
  }
  return nullptr;
}

void Reference::judge_array(Judgement& out, CUarray handle, std::uint64_t offset,
                            std::uint64_t size, Actor actor) const {
  const ArrayState::Array* array = array_of(handle);
  if (!array) {
    out.loose = out.fatal = true;
    return;
  }
  if (actor.device != array->device) out.loose = true;
  if (size == 0) out.loose = true;  // no document says whether such a copy looks at the array
  if (array->live && inside(offset, size, array->width) && !follows(*array, offset, 0, size, 1)) {
    out.uncovered = true;
  }
  if (!array->live) {
    out.add(Rule::kArrayAlive);
  } else if (size != 0 && !inside(offset, size, array->width)) {
    out.add(Rule::kArrayInside);
  }
}

Judgement Reference::judge(const calls::MemcpyHtoA& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kDataContext);
  judge_array(out, call.dstArray, call.dstOffset, call.ByteCount, actor);
  return out;
}
Judgement Reference::judge(const calls::MemcpyAtoH& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) out.add(Rule::kDataContext);
  judge_array(out, call.srcArray, call.srcOffset, call.ByteCount, actor);
  return out;
}
Judgement Reference::judge(const calls::MemcpyDtoA& call, Actor actor) const {
  Judgement out;
  judge_context(out, call.srcDevice, call.ByteCount, actor);
  if (actor.device >= 0) judge_touch(out, call.srcDevice, call.ByteCount, false, false, actor);
  judge_array(out, call.dstArray, call.dstOffset, call.ByteCount, actor);
  return out;
}
Judgement Reference::judge(const calls::MemcpyAtoD& call, Actor actor) const {
  Judgement out = judge_write(call.dstDevice, call.ByteCount, false, actor);
  judge_array(out, call.srcArray, call.srcOffset, call.ByteCount, actor);
  return out;
}

void Reference::write_row(CUarray handle, std::uint64_t offset, const std::vector<int>& bytes) {
  // `offset` counts from the first byte of the array.
  const ArrayState::Array* written = array_of(handle);
  if (!written) return;
  const int mipmap = written->mipmap;
  const unsigned level = written->level;
  if (written->tiled.followed) {
    array_of(handle)->writes.push_back({offset, bytes});
    return;
  }
  for (ArrayState::Array& array : arrays_.arrays) {
    // A level may have several handles.
    const bool same_level = mipmap >= 0 && array.mipmap == mipmap && array.level == level;
    if (&array != written && !same_level) continue;
    for (std::size_t i = 0; i < bytes.size() && offset + i < array.bytes.size(); ++i) {
      array.bytes[offset + i] = bytes[i];
    }
  }
}
int Reference::row_byte(CUarray handle, std::uint64_t at) const {
  const ArrayState::Array* array = array_of(handle);
  int byte = -1;
  for (std::size_t i = 0; array && i < array->writes.size(); ++i) {
    const ArrayState::Write& write = array->writes[i];
    if (at - write.at < write.bytes.size()) byte = write.bytes[at - write.at];
  }
  if (array && array->tiled.followed) return array->live ? byte : -1;
  return array && array->live && at < array->bytes.size() ? array->bytes[at] : -1;
}

const char* Reference::accept(const calls::MemcpyHtoA& call) {
  const auto* bytes = static_cast<const unsigned char*>(call.srcHost);
  write_row(call.dstArray, call.dstOffset, {bytes, bytes + call.ByteCount});
  return nullptr;
}
const char* Reference::accept(const calls::MemcpyAtoH& call) {
  const auto* got = static_cast<const unsigned char*>(call.dstHost);
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) {
    const int expected = row_byte(call.srcArray, call.srcOffset + i);
    if (expected >= 0 && got[i] != expected) return "a byte is not what was written into the array";
  }
  return nullptr;
}
const char* Reference::accept(const calls::MemcpyDtoA& call) {
  std::vector<int> bytes;
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) bytes.push_back(byte_at(call.srcDevice + i));
  write_row(call.dstArray, call.dstOffset, bytes);
  return nullptr;
}
const char* Reference::accept(const calls::MemcpyAtoD& call) {
  std::vector<int> bytes(call.ByteCount);
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) {
    bytes[i] = row_byte(call.srcArray, call.srcOffset + i);
  }
  store(call.dstDevice, bytes);
  return nullptr;
}

// A block of rows between an array and device memory.
Judgement Reference::judge_block(const CUDA_MEMCPY2D* copy, bool into_array, Actor actor) const {
  Judgement out;
  if (!copy) {
    out.uncovered = true;
    return out;
  }
  const std::uint64_t x = into_array ? copy->dstXInBytes : copy->srcXInBytes;
  const std::uint64_t y = into_array ? copy->dstY : copy->srcY;
  const std::uint64_t base = into_array ? copy->srcDevice : copy->dstDevice;
  const std::uint64_t pitch = into_array ? copy->srcPitch : copy->dstPitch;
  CUarray handle = into_array ? copy->dstArray : copy->srcArray;
  const ArrayState::Array* array = array_of(handle);
  // No document says what a copy of nothing looks at.
  if (!array || copy->WidthInBytes == 0 || copy->Height == 0) {
    out.uncovered = true;
    return out;
  }
  for (std::uint64_t row = 0; row < copy->Height; ++row) {
    const std::uint64_t at = base + row * pitch;
    // The bytes between the rows matter to some drivers, so all rows lie in one piece of memory.
    if (row != 0 && (spot(at).memory != spot(base).memory || spot(at).memory < 0)) out.loose = true;
    judge_context(out, at, copy->WidthInBytes, actor);
    if (actor.device >= 0) judge_touch(out, at, copy->WidthInBytes, !into_array, false, actor);
  }
  judge_array(out, handle, x, copy->WidthInBytes, actor);
  if (array->live && !inside(y, copy->Height, array->rows())) {
    out.add(Rule::kArrayInside);
  } else if (array->live && inside(x, copy->WidthInBytes, array->width) &&
             !follows(*array, x, y, copy->WidthInBytes, copy->Height)) {
    out.uncovered = true;
  }
  return out;
}
Judgement Reference::judge(const calls::Memcpy2D& call, Actor actor) const {
  return judge_block(call.pCopy, true, actor);
}
Judgement Reference::judge(const calls::Memcpy2DUnaligned& call, Actor actor) const {
  return judge_block(call.pCopy, false, actor);
}
const char* Reference::accept(const calls::Memcpy2D& call) {
  const CUDA_MEMCPY2D& copy = *call.pCopy;
  const ArrayState::Array* array = array_of(copy.dstArray);
  for (std::uint64_t row = 0; row < copy.Height; ++row) {
    std::vector<int> bytes;
    for (std::uint64_t i = 0; i < copy.WidthInBytes; ++i) {
      bytes.push_back(byte_at(copy.srcDevice + row * copy.srcPitch + i));
    }
    write_row(copy.dstArray, (copy.dstY + row) * array->width + copy.dstXInBytes, bytes);
  }
  return nullptr;
}
const char* Reference::accept(const calls::Memcpy2DUnaligned& call) {
  const CUDA_MEMCPY2D& copy = *call.pCopy;
  const ArrayState::Array* array = array_of(copy.srcArray);
  for (std::uint64_t row = 0; row < copy.Height; ++row) {
    std::vector<int> bytes;
    for (std::uint64_t i = 0; i < copy.WidthInBytes; ++i) {
      bytes.push_back(
          row_byte(copy.srcArray, (copy.srcY + row) * array->width + copy.srcXInBytes + i));
    }
    store(copy.dstDevice + row * copy.dstPitch, bytes);
  }
  return nullptr;
}

bool Reference::knows(const calls::MemcpyAtoH& call) const {
  for (std::uint64_t i = 0; i < call.ByteCount; ++i) {
    if (row_byte(call.srcArray, call.srcOffset + i) < 0) return false;
  }
  return true;
}

std::vector<std::uint64_t> Reference::arrays() const {
  std::vector<std::uint64_t> out;
  for (const ArrayState::Array& array : arrays_.arrays) {
    if (array.live && array.mipmap < 0) out.push_back(array.value);
  }
  return out;
}
std::vector<std::uint64_t> Reference::mipmaps() const {
  std::vector<std::uint64_t> out;
  for (const ArrayState::Mipmap& mipmap : arrays_.mipmaps) {
    if (mipmap.live) out.push_back(mipmap.value);
  }
  return out;
}

}  // namespace cuvmm::fuzz
