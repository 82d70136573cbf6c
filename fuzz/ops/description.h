// SPDX-License-Identifier: Apache-2.0
// The lines of ops.def as data, for code that goes through the parameters of a call one by one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  std::uint8_t extra;  ///< for an op with several functions: the value of its field `extra` that
                       ///< selects this one
  const char* function;
  std::span<const Part> parts;
};

/// The description of the function that a canonical op calls.
const Description& describe(const Op& op);
/// The op's only or first function.
const Description& describe(Code code);
/// The descriptions of a function, in the order of ops.def; none where no op calls it.
std::vector<const Description*> find_descriptions(std::string_view function);
/// All descriptions, in the order of ops.def.
std::span<const Description> descriptions();

}  // namespace cuvmm::fuzz
