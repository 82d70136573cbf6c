// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/op.h"

#include <cstdio>
#include <string_view>

namespace cuvmm::fuzz::plain {

namespace {

constexpr const char* kNames[kCodes] = {"cuCtxSetCurrent",
                                        "cuMemAlloc",
                                        "cuMemAllocPitch",
                                        "cuMemAllocHost",
                                        "cuMemHostAlloc",
                                        "cuMemHostRegister",
                                        "cuMemHostUnregister",
                                        "cuMemFree",
                                        "cuMemFreeHost",
                                        "cuMemAllocAsync",
                                        "cuMemAllocFromPoolAsync",
                                        "cuMemFreeAsync",
                                        "map",
                                        "unmap",
                                        "cuMemHostGetDevicePointer",
                                        "cuMemHostGetFlags",
                                        "cuPointerGetAttribute",
                                        "cuPointerGetAttributes",
                                        "cuPointerSetAttribute",
                                        "cuMemGetAddressRange",
                                        "cuMemGetHandleForAddressRange",
                                        "cuMemRetainAllocationHandle",
                                        "cuMemGetAccess",
                                        "cuMemset",
                                        "cuMemset2D",
                                        "cuMemcpy",
                                        "cuMemcpy2D",
                                        "cuMemcpy3D",
                                        "cuMemPoolCreate",
                                        "cuMemPoolDestroy",
                                        "cuDeviceGetDefaultMemPool",
                                        "cuDeviceGetMemPool",
                                        "cuDeviceSetMemPool",
                                        "cuMemPoolGetAttribute",
                                        "cuMemPoolSetAttribute",
                                        "cuMemPoolTrimTo",
                                        "cuMemPoolGetAccess",
                                        "cuMemPoolSetAccess",
                                        "cuMemcpyBatchAsync",
                                        "cuMemcpyPeer",
                                        "cuMemcpy3DPeer"};
constexpr const char* kKinds[] = {"nothing",    "plain",    "pitched", "host",
                                  "registered", "pageable", "pooled",  "mapped"};
constexpr const char* kAnchors[] = {"start", "middle", "end", "end512", "end4K", "end64K", "end2M"};

// The fields that a call reads, one letter each: name, Ref, ref2 (r), At, at2 (a), Size, Height,
// Depth, Pitch, pitch2 (p), Form, Which, Value, fLags.
constexpr const char* kUsed[kCodes] = {
    "W",    "nS",   "nSHW",   "nS",         "nSL",    "nRASFVL",      "RA",
    "RA",   "RA",   "nSF",    "nrSF",       "RAF",    "nSFWV",        "R",
    "RAL",  "RA",   "RAFW",   "RASFWVL",    "RAWV",   "RAF",          "RASFWL",
    "RA",   "RAWV", "RASFWV", "RASHPFWV",   "RrAaSF", "RrAaSHPpFWL",  "RrAaSHDPpFWVL",
    "nSWV", "R",    "nW",     "nW",         "RW",     "RFW",          "RWV",
    "RV",   "RW",   "RWVL",   "RrAaSDFWVL", "RrAaSF", "RrAaSHDPpFWVL"};

std::string place_text(std::uint8_t ref, std::uint8_t at) {
  if (ref % kBlocks == 0) return "nowhere" + std::to_string(at % std::size(kNowhere));
  const Place& place = pick(kPlaces, at);
  std::string out =
      "b" + std::to_string(ref % kBlocks) + "[" + kAnchors[static_cast<std::size_t>(place.anchor)];
  if (place.distance > 0) out += '+';
  if (place.distance != 0) out += std::to_string(place.distance);
  return out + "]";
}

}  // namespace

void canonicalise(Op& op) {
  const std::string_view used =
      op.code < Code::kCount ? kUsed[static_cast<std::size_t>(op.code)] : "";
  const auto keep = [&](char letter, std::uint8_t& field) {
    if (used.find(letter) == std::string_view::npos) field = 0;
  };
  keep('n', op.name);
  keep('R', op.ref);
  keep('r', op.ref2);
  keep('A', op.at);
  keep('a', op.at2);
  keep('S', op.size);
  keep('H', op.height);
  keep('D', op.depth);
  keep('P', op.pitch);
  keep('p', op.pitch2);
  keep('F', op.form);
  keep('W', op.which);
  keep('V', op.value);
  keep('L', op.flags);
}

const char* kind_name(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
const char* function_name(const Op& op) {
  return op.code < Code::kCount ? kNames[static_cast<std::size_t>(op.code)] : "?";
}

std::string answer_text(const Answer& answer) {
  switch (answer.how) {
    case Answer::How::kNotRun:
      return "not run";
    case Answer::How::kLeftOut:
      return "left out";
    case Answer::How::kDied:
      return "its end";
    default:
      break;
  }
  char value[32];
  std::snprintf(value, sizeof value, answer.value > 0xffff ? " =0x%x" : " =%u", answer.value);
  return std::to_string(answer.result) + (answer.value ? value : "");
}

std::string op_text(const Op& op) {
  std::string out;
  const auto put = [&](const char* key, std::uint64_t value) {
    if (value == 0) return;
    out += std::string(" ") + key + "=" +
           (value >> 40 ? "2^64-" + std::to_string(0 - value) : std::to_string(value));
  };
  const bool pool = is_of_pool(op.code);
  if (op.name) out += std::string(pool ? "p" : "b") + std::to_string(op.name) + " = ";
  out += function_name(op);
  if (pool) {
    out += " p" + std::to_string(op.ref % kPools);
  } else if (op.code >= Code::kDevicePointer || op.code == Code::kRegister || op.ref) {
    out += " " + place_text(op.ref, op.at);
  }
  if (is_copy(op.code)) {
    out += " <- " + place_text(op.ref2, op.at2);
  } else {
    put("pool", op.ref2);
  }
  if (is_data(op.code) || op.code == Code::kRangeHandle) {
    const Length& length = pick(kLengths, op.size);
    constexpr const char* kOf[] = {"", "rest", "half", "page", "64K", "2M"};
    out += std::string(" length=") + kOf[length.of] + "+" +
           std::to_string(static_cast<std::int64_t>(length.bytes));
  } else if (op.code < Code::kUnmap) {
    put("size", pick(kSizes, op.size));
  } else {
    put("size", op.size);
  }
  if (op.code == Code::kFill2D || has_descriptor(op.code)) {
    constexpr const char* kOf[] = {"row", "block", ""};
    const auto pitch = [&](const char* key, std::uint8_t index) {
      const Pitch& p = pick(kPitches, index);
      out += std::string(" ") + key + "=" + kOf[p.of] + "+" +
             std::to_string(static_cast<std::int64_t>(p.bytes));
    };
    out += " height=" + std::to_string(pick(kHeights, op.height));
    if (has_descriptor(op.code) && op.code != Code::kCopy2D)
      out += " depth=" + std::to_string(pick(kHeights, op.depth));
    pitch("pitch", op.pitch);
    if (op.code != Code::kFill2D) pitch("pitch2", op.pitch2);
  } else {
    put("height", op.height);
    put("depth", op.depth);
  }
  put("form", op.form);
  if (op.code == Code::kAttribute || op.code == Code::kSetAttribute) {
    out += " which=" + std::to_string(pick(kAttributes, op.which));
  } else if (op.code == Code::kAttributes) {
    for (const std::uint8_t index : {op.which, op.value, op.flags}) {
      out += " " + std::to_string(pick(kAttributes, index));
    }
    put("faults", op.faults);
    return out;
  } else if (op.code == Code::kPoolAttribute || op.code == Code::kPoolSetAttribute) {
    out += " which=" + std::to_string(pick(kPoolAttributes, op.which));
  } else {
    put("which", op.which);
  }
  put("value", op.value);
  put("flags", op.flags);
  put("faults", op.faults);
  return out;
}

}  // namespace cuvmm::fuzz::plain
