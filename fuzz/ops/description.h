// SPDX-License-Identifier: Apache-2.0
// The lines of ops.def as data: what writes and reads a call goes through its parameters one by
// one.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fuzz/ops/argument.h"
#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// One parameter of a call: its source (sources.h) as function pointers.
struct Part {
  const char* parameter;
  Op uses;
  NameKind ref, ref2;
  bool stated;
  void (*canonicalise)(Op&);
  std::string (*text)(const Op&, const WrittenNames&);
  void (*read)(Op&, const Argued&);
};

/// One function that an op may call.
struct Description {
  Code code;
  std::uint8_t extra;  ///< where the op has several functions: this one's value of `extra`
  const char* function;
  std::span<const Part> parts;
};

/// What a canonical op calls.
const Description& describe(const Op& op);
/// The op's only or first function.
const Description& describe(Code code);
/// By the function's name; null for what no op calls.
const Description* find_description(std::string_view function);
/// All of them, in the order of ops.def.
std::span<const Description> descriptions();

}  // namespace cuvmm::fuzz
