// SPDX-License-Identifier: Apache-2.0
// Values of the program text as C expressions.
#pragma once

#include <span>
#include <string>

#include "api/words.h"
#include "program/program.h"

namespace cuvmm::program {

/// The C variable of a name.
inline std::string c_variable(const std::string& name) { return "v_" + name; }

/// "2097152u" and the like, wide enough for its value.
std::string c_number(std::uint64_t number);

/// An expression of an integer type; words of `words` become the enumerators of <cuda.h>. Sets
/// `error` when the value has no such form.
std::string c_expression(const Value& value, std::span<const Word> words, std::string& error);

/// A string literal.
std::string c_string(const std::string& text);

}  // namespace cuvmm::program
