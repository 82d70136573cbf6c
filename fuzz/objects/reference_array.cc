// SPDX-License-Identifier: Apache-2.0
// Arrays of one byte an element, and copies of blocks.
#include <algorithm>

#include "fuzz/objects/reference.h"

namespace cuvmm::fuzz::objects {

namespace {

bool inside(std::size_t at, std::size_t size, std::size_t whole) {
  return at <= whole && size <= whole - at;
}

// An H100 takes a pitch of 0 for the bytes of a row.
std::size_t pitch_of(const Op& op) { return op["pitch"] ? op["pitch"] : op["w"]; }

}  // namespace

Expectation Reference::expect_array(const Op& op) const {
  const auto& array = arrays_[op["a"]];
  if (op.code == Code::kArray) {
    if (array && array->live) return kSkip;
    // cuda.h: a depth without a height is the number of layers, or nothing that it describes.
    if (!op["layered"] && op["d"] != 0 && op["h"] == 0) return kSkip;
    if (op["w"] == 0 || (op["layered"] && op["d"] == 0)) return kInvalid;
    return {};
  }
  if (!array) return kSkip;
  if (op.code == Code::kArrayEnd || op.code == Code::kDescribe) {
    return {.skip = !array->live};  // a driver dies of an array that ended
  }
  return expect_copy(op);
}

Expectation Reference::expect_copy(const Op& op) const {
  const auto& array = arrays_[op["a"]];
  const bool row = op.code == Code::kRow, flat = op.code == Code::kFlat;
  const bool arrays = row || flat || op.code == Code::kAcross;
  const std::size_t width = op["w"];
  const std::size_t height = row ? 1 : op["h"], depth = row || flat ? 1 : op["d"];
  const std::size_t x = op["x"], y = row ? 0 : op["y"], z = row || flat ? 0 : op["z"];
  // No document says what a copy of nothing looks at.
  if (width == 0 || height == 0 || depth == 0 || width * height * depth > kLinearBytes) {
    return kSkip;
  }
  const auto& other = arrays ? arrays_[op["b"]] : array;
  if (!other || (arrays && other == array)) return kSkip;
  if (!array->live || !other->live) {
    // A later array may have the handle.
    const auto again = [&](const Array& side) {
      return !side.live && std::any_of(arrays_.begin(), arrays_.end(), [&](const auto& each) {
        return lives(each) && each->handle == side.handle;
      });
    };
    return again(*array) || again(*other) ? kSkip : kRefused;
  }
  const auto fits = [&](const Array& side, std::size_t at_x, std::size_t at_y, std::size_t at_z) {
    return inside(at_x, width, side.width) && inside(at_y, height, side.height) &&
           inside(at_z, depth, side.depth);
  };
  if (arrays) {
    const std::size_t sy = row ? 0 : op["sy"], sz = row || flat ? 0 : op["sz"];
    return fits(*array, x, y, z) && fits(*other, op["sx"], sy, sz) ? Expectation{} : kInvalid;
  }
  if (op.code == Code::kFromMemory || op.code == Code::kToMemory) {
    const BlockPtr& block = memories_[op["m"]];
    if (!block || !block->live) return kSkip;
    const std::size_t pitch = pitch_of(op), rows = op["height"];
    const std::size_t end = op["at"] + ((depth - 1) * rows + height - 1) * pitch + width;
    if (end > block->bytes.size()) return kSkip;
    // cuda.h: a pitch holds a row, and a height the rows of a layer. Whether the two are looked at
    // where they are not used is not known, nor what a height of 0 is.
    if (pitch < width && (height > 1 || depth > 1)) return kInvalid;
    if (pitch < width || (rows < height && (depth == 1 || rows == 0))) return kSkip;
    if (rows < height) return kInvalid;
  }
  return fits(*array, x, y, z) ? Expectation{} : kInvalid;
}

std::string Reference::accept_array(const Op& op, const Answer& answer) {
  switch (op.code) {
    case Code::kArray: {
      const bool taken = std::any_of(arrays_.begin(), arrays_.end(), [&](const auto& each) {
        return each && each->live && each->handle == answer.value;
      });
      if (taken) return "the handle of an array that lives";
      Array made{answer.value, {}, op["w"], std::max(op["h"], 1u), std::max(op["d"], 1u), {}};
      made.shape.Width = op["w"];
      made.shape.Height = op["h"];
      made.shape.Depth = op["d"];
      made.shape.Flags = op["layered"] ? CUDA_ARRAY3D_LAYERED : 0;
      made.bytes.assign(made.width * made.height * made.depth, -1);
      arrays_[op["a"]] = std::make_shared<Array>(std::move(made));
      return "";
    }
    case Code::kArrayEnd:
      arrays_[op["a"]]->live = false;
      return "";
    case Code::kDescribe: {
      const CUDA_ARRAY3D_DESCRIPTOR& is = arrays_[op["a"]]->shape;
      const CUDA_ARRAY3D_DESCRIPTOR& given = answer.shape;
      const bool same = given.Width == is.Width && given.Height == is.Height &&
                        given.Depth == is.Depth && given.Flags == is.Flags &&
                        given.Format == CU_AD_FORMAT_UNSIGNED_INT8 && given.NumChannels == 1;
      return same ? "" : "another shape than that of its creation";
    }
    case Code::kReadBack:
      return read_back(op, answer);
    default:
      copy_arrays(op);
      return "";
  }
}

std::string Reference::read_back(const Op& op, const Answer& answer) const {
  Array& array = *arrays_[op["a"]];
  std::size_t i = 0;
  for (unsigned z = 0; z < op["d"]; ++z) {
    for (unsigned y = 0; y < op["h"]; ++y) {
      for (unsigned x = 0; x < op["w"]; ++x, ++i) {
        const int is = array.byte(op["x"] + x, op["y"] + y, op["z"] + z);
        if (is >= 0 && answer.bytes[i] != is) return "a byte is not what was written";
      }
    }
  }
  return "";
}

void Reference::copy_arrays(const Op& op) {
  const bool row = op.code == Code::kRow, flat = op.code == Code::kFlat;
  Array& array = *arrays_[op["a"]];
  const unsigned height = row ? 1 : op["h"], depth = row || flat ? 1 : op["d"];
  std::size_t i = 0;
  for (unsigned z = 0; z < depth; ++z) {
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < op["w"]; ++x, ++i) {
        int& own =
            array.byte(op["x"] + x, (row ? 0 : op["y"]) + y, (row || flat ? 0 : op["z"]) + z);
        if (op.code == Code::kWrite) {
          own = written_byte(op["value"], i);
        } else if (op.code == Code::kFromMemory || op.code == Code::kToMemory) {
          const std::size_t at = op["at"] + (z * op["height"] + y) * pitch_of(op) + x;
          int& far = memories_[op["m"]]->bytes[at];
          if (op.code == Code::kFromMemory)
            own = far;
          else
            far = own;
        } else {
          own = arrays_[op["b"]]->byte(op["sx"] + x, (row ? 0 : op["sy"]) + y,
                                       (row || flat ? 0 : op["sz"]) + z);
        }
      }
    }
  }
}

}  // namespace cuvmm::fuzz::objects
