// SPDX-License-Identifier: Apache-2.0
// What a function of the program text takes: an entry point's parameters, or a pseudo-call's.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/calls.h"
#include "api/words.h"
#include "program/program.h"

namespace cuvmm::program {

/// The functions that are no entry points.
enum class Pseudo {
  kInit,
  kContext,
  kHost,
  kBytes,
  kPeek,
  kPoke,
  kSame,
  kDifference,
  kAligned,
  kOpen,
  kMemfd,
  kDescriptor,
  kClose,
  kReceive,
  kKernel,
  kExit,
  kNone,  ///< an entry point
};

struct Parameter {
  ParameterKind kind;
  std::string_view name;
  bool output = false;    ///< written by the call: not an argument, unless it is `name=null`
  bool optional = false;  ///< may be omitted, and is always written with its key
};

struct FunctionSignature {
  std::string_view name;
  EntryPoint entry = EntryPoint::kCount;
  Pseudo pseudo = Pseudo::kNone;
  std::vector<Parameter> parameters;
};

/// Null for a name that the vocabulary lacks.
const FunctionSignature* find_function(std::string_view name);
/// All of them, entry points first.
std::span<const FunctionSignature> functions();

/// Arguments sorted by parameter; views into the statement.
struct BoundArguments {
  const FunctionSignature* signature = nullptr;
  std::vector<const Value*> values;         ///< per parameter; null when omitted
  std::vector<const Argument*> properties;  ///< the flattened CUmemAllocationProp
};

/// The words that a pseudo-call's argument may be, besides a number.
std::span<const Word> words_of(Pseudo pseudo, std::size_t argument);

/// A mistake inside a statement; the column is 0 where no value is at fault.
struct ArgumentError {
  int column = 0;
  std::string message;
};

/// Sorts a statement's arguments; what does not fit is appended to `errors`.
BoundArguments bind_arguments(const FunctionSignature& signature,
                              const std::vector<Argument>& arguments,
                              std::vector<ArgumentError>& errors);

}  // namespace cuvmm::program
