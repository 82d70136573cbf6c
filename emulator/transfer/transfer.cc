// SPDX-License-Identifier: Apache-2.0
#include "emulator/transfer/transfer.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

#include "emulator/base/say.h"

namespace cuvmm::emulator {

namespace {

void fill_bytes(char* out, Size size, unsigned value, unsigned element);

// Prints why a copy or fill of a multicast address is refused, the first time in a process; a GPU
// would fault, or do worse.
CUresult refuse_multicast(Address address, const std::string& why) {
  static constinit std::atomic<bool> printed{false};
  if (printed.exchange(true)) return CUDA_ERROR_INVALID_VALUE;
  char text[256];
  std::snprintf(text, sizeof text, "multicast address 0x%llx: %s (printed once)",
                static_cast<unsigned long long>(address), why.c_str());
  note(text);
  return CUDA_ERROR_INVALID_VALUE;
}

// A write through a multicast address reaches the memory of every device of the team.
CUresult write_multicast(const Team& team, Address to, Size offset, const char* bytes, Size size) {
  if (const std::string why = team.unwritable(offset, size); !why.empty()) {
    return refuse_multicast(to, why);
  }
  return team.write(offset, bytes, size)
             ? CUDA_SUCCESS
             : refuse_multicast(to, "a binding ended while it was written");
}

// A copy of bytes that nobody wrote is no write.
void copy_written(Emulator& e, Address to, Address from, Size size) {
  Size at = 0, from_at = 0;
  Physical* const memory = e.memory_at(to, &size, &at);
  if (!memory || !memory->written()) return;
  Physical* const source = e.memory_at(from, &size, &from_at);
  if (source && source->written()) {
    memory->written().copy(at, source->written(), from_at, size);
  } else {
    memory->written().set(at, size);
  }
}

CUresult copy_run(Emulator& e, Address to, Address from, Size size) {
  while (size) {
    Size run = size;
    Size offset = 0;
    if (e.team_at(from, &run, &offset)) {
      return refuse_multicast(from, "copies cannot read it, only multimem instructions can");
    }
    if (const Team* team = e.team_at(to, &run, &offset)) {
      const char* bytes = e.resolve(from, &run, true);
      if (!bytes) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = write_multicast(*team, to, offset, bytes, run);
      if (result != CUDA_SUCCESS) return result;
      to += run;
      from += run;
      size -= run;
      continue;
    }
    char* out = e.resolve(to, &run, true);
    const char* in = e.resolve(from, &run, true);
    if (!out || !in) return CUDA_ERROR_INVALID_VALUE;
    std::memmove(out, in, run);
    copy_written(e, to, from, run);
    to += run;
    from += run;
    size -= run;
  }
  return CUDA_SUCCESS;
}

void fill_bytes(char* out, Size size, unsigned value, unsigned element) {
  if (element == 1) {
    std::memset(out, static_cast<int>(value), size);
    return;
  }
  // A mapping boundary is a multiple of the element, so a run never begins inside an element.
  for (Size at = 0; at < size; at += element) std::memcpy(out + at, &value, element);
}

CUresult fill_run(Emulator& e, Address to, Size size, unsigned value, unsigned element) {
  while (size) {
    Size run = size;
    Size offset = 0;
    if (const Team* team = e.team_at(to, &run, &offset)) {
      constexpr Size kChunk = Size{1} << 20;  // a multiple of every element's size
      run = std::min(run, kChunk);
      std::vector<char> bytes(run);
      fill_bytes(bytes.data(), run, value, element);
      const CUresult result = write_multicast(*team, to, offset, bytes.data(), run);
      if (result != CUDA_SUCCESS) return result;
      to += run;
      size -= run;
      continue;
    }
    char* out = e.resolve(to, &run);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    fill_bytes(out, run, value, element);
    to += run;
    size -= run;
  }
  return CUDA_SUCCESS;
}

CUresult check_run(const Emulator& e, Address at, Size size, bool pageable) {
  while (size) {
    if (const Mapping* mapping = e.model.mapping_at(at)) {
      const Size run = std::min(size, mapping->size - (at - mapping->base));
      at += run;
      size -= run;
      continue;
    }
    if (const PlainAllocation* plain = e.plain.at(at)) {
      return size <= plain->size - (at - plain->base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (e.space.owns(at, 1)) return CUDA_ERROR_INVALID_VALUE;
    if (const HostBlock* block = e.host.at(at)) {
      return size <= block->size - (at - block->base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return pageable ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

// Whether a side's address lies in page-locked memory that does not contain all rows of the side,
// or, for `write`, that was registered as read-only. A driver refuses both (recorded).
static bool locked_out(const Emulator& e, const Copy& copy, const Block& side, bool write) {
  if (e.host.empty() || side.of_array || copy.empty()) return false;
  const HostBlock* block = e.host.at(side.named);
  if (!block) return false;
  using Wide = unsigned __int128;
  const Wide reach = Wide(side.base - block->base) + Wide(copy.depth - 1) * side.slice_pitch +
                     Wide(copy.height - 1) * side.pitch + copy.width;
  const bool sealed = block->registered && (block->flags & CU_MEMHOSTREGISTER_READ_ONLY);
  return (write && sealed) || reach > block->size;
}

// The bytes of an array lie in the emulator's own memory; copies address them there.
static CUresult check_array(const Emulator& e, const Copy& copy, const Block& side) {
  if (!side.of_array) return CUDA_SUCCESS;
  const Array* const array = e.arrays.find(side.array);
  if (!array || array->levels != 0) return CUDA_ERROR_INVALID_HANDLE;
  const auto holds = [](Size most, Size first, Size count) {
    return first <= most && count <= most - first;
  };
  const CUDA_ARRAY3D_DESCRIPTOR& shape = array->shape;
  const bool inside = side.lod == 0 && holds(row_bytes(shape), side.x, copy.width) &&
                      holds(std::max<Size>(shape.Height, 1), side.y, copy.height) &&
                      holds(std::max<Size>(shape.Depth, 1), side.z, copy.depth);
  return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_sides(const Emulator& e, const Copy& copy) {
  if (copy.empty()) return CUDA_SUCCESS;
  for (const Block* side : {&copy.to, &copy.from}) {
    const CUresult wrong = check_array(e, copy, *side);
    if (wrong != CUDA_SUCCESS) return wrong;
  }
  const bool out = locked_out(e, copy, copy.to, true) || locked_out(e, copy, copy.from, false);
  return out ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The side of a checked copy as addresses; false where the host has no memory left.
static bool place(Emulator& e, Block& side) {
  if (!side.of_array) return true;
  Array& array = *e.arrays.find(side.array);
  char* const bytes = array.memory ? array.memory->touch(0, array.memory->size()) : nullptr;
  side.pitch = row_bytes(array.shape);
  side.slice_pitch = side.pitch * std::max<Size>(array.shape.Height, 1);
  side.base =
      reinterpret_cast<Address>(bytes) + side.z * side.slice_pitch + side.y * side.pitch + side.x;
  return bytes != nullptr;
}

CUresult execute(Emulator& e, const Copy& asked) {
  const CUresult wrong = check_sides(e, asked);
  if (wrong != CUDA_SUCCESS || asked.empty()) return wrong;
  Copy copy = asked;
  if (!place(e, copy.to) || !place(e, copy.from)) return CUDA_ERROR_OUT_OF_MEMORY;
  for (Size slice = 0; slice < copy.depth; ++slice) {
    for (Size row = 0; row < copy.height; ++row) {
      const Address to = copy.to.base + slice * copy.to.slice_pitch + row * copy.to.pitch;
      const Address from = copy.from.base + slice * copy.from.slice_pitch + row * copy.from.pitch;
      const CUresult result = copy_run(e, to, from, copy.width);
      if (result != CUDA_SUCCESS) return result;
    }
  }
  return CUDA_SUCCESS;
}

CUresult execute(Emulator& e, const Fill& fill) {
  for (Size row = 0; row < fill.height; ++row) {
    const Address to = fill.to.base + row * fill.to.pitch;
    const CUresult result = fill_run(e, to, fill.width, fill.value, fill.element);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult check_unmapped(const Emulator& e, const Touch& touch, bool pageable) {
  for (Size slice = 0; slice < touch.slices; ++slice) {
    for (Size row = 0; row < touch.rows; ++row) {
      const Address at = touch.base + slice * touch.slice_pitch + row * touch.pitch;
      const CUresult result = check_run(e, at, touch.width, pageable);
      if (result != CUDA_SUCCESS) return result;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
