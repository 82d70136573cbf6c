// SPDX-License-Identifier: Apache-2.0
// The parameters of a function of the program text: of an entry point, or of a pseudo-call.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/calls.h"
#include "api/words.h"
#include "program/program.h"

namespace cuvmm::program {

/// The functions that are not entry points.
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
  kNone,  ///< none: the function is an entry point
};

struct Parameter {
  ParameterKind kind;
  std::string_view name;
  bool output = false;    ///< the call writes it, so it is no argument, except as `name=null`
  bool optional = false;  ///< may be omitted; if it is written, it has its key
};

struct FunctionSignature {
  std::string_view name;
  EntryPoint entry = EntryPoint::kCount;
  Pseudo pseudo = Pseudo::kNone;
  std::vector<Parameter> parameters;
};

/// Null for a name that the vocabulary lacks.
const FunctionSignature* find_function(std::string_view name);
/// All functions, entry points first.
std::span<const FunctionSignature> functions();

/// Arguments sorted by parameter; views into the statement.
struct BoundArguments {
  const FunctionSignature* signature = nullptr;
  std::vector<const Value*> values;         ///< per parameter; null when omitted
  std::vector<const Argument*> properties;  ///< the flattened CUmemAllocationProp
};

/// The words that a pseudo-call's argument may have in place of a number.
std::span<const Word> words_of(Pseudo pseudo, std::size_t argument);

/// A mistake inside a statement; the column is 0 if no single value is wrong.
struct ArgumentError {
  int column = 0;
  std::string message;
};

/// Sorts a statement's arguments by parameter, and appends a mistake to `errors` for each that fits
/// none.
BoundArguments bind_arguments(const FunctionSignature& signature,
                              const std::vector<Argument>& arguments,
                              std::vector<ArgumentError>& errors);

}  // namespace cuvmm::program
