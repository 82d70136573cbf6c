// SPDX-License-Identifier: Apache-2.0
// Values of the program text as C expressions.
#pragma once

#include <span>
#include <string>

#include "api/words.h"
#include "program/program.h"

namespace cuvmm::program {

/// The C variable for a name.
inline std::string c_variable(const std::string& name) { return "v_" + name; }

/// A C number such as "2097152u", with a type that is wide enough.
std::string c_number(std::uint64_t number);

/// An expression of an integer type; words of `words` become the enumerators of <cuda.h>. Sets
/// `error` if the value has no such form.
std::string c_expression(const Value& value, std::span<const Word> words, std::string& error);

/// A string literal.
std::string c_string(const std::string& text);

}  // namespace cuvmm::program
