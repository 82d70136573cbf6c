// SPDX-License-Identifier: Apache-2.0
#include "rulebook/array/array_uses.h"

#include <algorithm>

#include "rulebook/check/check_support.h"

namespace cuvmm {
using namespace detail;

namespace {

// "byte 60 and 8 bytes from there on, of 64: 4 too many", or "".
std::string outside(const char* axis, std::uint64_t first, std::uint64_t count, std::uint64_t size,
                    const char* unit) {
  if (first <= size && count <= size - first) return {};
  const std::uint64_t over = count > size || first > size ? 0 : first + count - size;
  return std::string(axis) + " " + std::to_string(first) + " and " + std::to_string(count) + " " +
         unit + " from there on, of " + std::to_string(size) +
         (over != 0 ? ": " + std::to_string(over) + " too many" : "");
}

std::string outside(const ArrayObject& array, const ArrayUse& use) {
  const std::uint64_t element = element_size(array.shape);
  // Packed formats, or a mipmapped array, which is no array by itself.
  if (element == 0 || array.mipmapped) return {};
  std::string wrong = use.elements
                          ? outside("element", use.x, use.width, array.shape.Width, "elements")
                          : outside("byte", use.x, use.width, array.shape.Width * element, "bytes");
  if (wrong.empty()) {
    wrong = outside("row", use.y, use.rows, std::max<std::uint64_t>(array.shape.Height, 1), "rows");
  }
  if (wrong.empty()) {
    wrong = outside("slice", use.z, use.slices, std::max<std::uint64_t>(array.shape.Depth, 1),
                    "slices");
  }
  return wrong;
}

void add_operand(const CUmemcpy3DOperand& one, const char* parameter, const CUextent3D& extent,
                 ArrayUse (&out)[kMostArrayUses], std::size_t& count) {
  if (one.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return;
  const auto& place = one.op.array;
  out[count++] = {place.array,    parameter,      place.offset.x,
                  place.offset.y, place.offset.z, extent.width,
                  extent.height,  extent.depth,   true};
}

}  // namespace

std::size_t array_uses(const CUDA_MEMCPY3D_BATCH_OP& copy, ArrayUse (&out)[kMostArrayUses]) {
  const CUextent3D& extent = copy.extent;
  std::size_t count = 0;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return 0;
  add_operand(copy.dst, "dst", extent, out, count);
  add_operand(copy.src, "src", extent, out, count);
  return count;
}

Violations check_array_uses(const Model& model, const ArrayUse* uses, std::size_t count) {
  Collector out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto handle = reinterpret_cast<std::uintptr_t>(uses[i].array);
    const std::string where = std::string(uses[i].parameter) + ": ";
    if (const ArrayObject* const array = model.arrays().find(handle)) {
      const std::string wrong = outside(*array, uses[i]);
      if (wrong.empty()) continue;
      out.add(Rule::kArrayInside, where + wrong, false).objects.push_back(ref(*array));
    } else if (const auto ended_object = model.tombstones().find(ObjectRef::Kind::kArray, handle)) {
      out.add(Rule::kArrayAlive,
              where + "array " + hex_text(handle) + " was destroyed, or its context was", false)
          .objects.push_back(*ended_object);
    }
  }
  return out.take();
}

}  // namespace cuvmm
