// SPDX-License-Identifier: Apache-2.0
// The PTX of the library's kernels.
#pragma once

#include <string>

namespace cuvmm::blas {

/// The type of an element in memory.
enum class Element { kF32, kF64, kF16, kBf16 };

/// The element that has the type of a computation.
template <class Number>
inline constexpr Element kNative = sizeof(Number) == 8 ? Element::kF64 : Element::kF32;

/// The size in bytes.
inline long long size_of(Element element) {
  return element == Element::kF64 ? 8 : element == Element::kF32 ? 4 : 2;
}

/// The kernels that read elements of one type and write elements of another. They compute in f64 if
/// the input is f64, and in f32 otherwise.
std::string kernel_text(Element in, Element out);

}  // namespace cuvmm::blas
