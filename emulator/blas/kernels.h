// SPDX-License-Identifier: Apache-2.0
// The computations that the library carries out: it launches kernels of its own.
#pragma once

#include "emulator/blas/blas.h"
#include "emulator/blas/kernel_text.h"

namespace cuvmm::blas {

/// A matrix in the memory of the device, or a vector. The distances count elements.
struct Matrix {
  CUdeviceptr first = 0;
  long long between_rows = 1, between_columns = 0;
  long long between_matrices = 0;  ///< of a batch
};

/// A vector whose increment is negative begins at its end.
inline Matrix vector_of(const void* first, long long count, long long increment, Element element) {
  auto address = reinterpret_cast<CUdeviceptr>(first);
  if (increment < 0 && count > 0)
    address += static_cast<CUdeviceptr>((1 - count) * increment * size_of(element));
  return {address, increment, 0};
}

template <class Number>
Matrix vector(const void* first, long long count, long long increment) {
  return vector_of(first, count, increment, kNative<Number>);
}

/// The numbers of cudaDataType that name real numbers.
enum { kReal32 = 0, kReal64 = 1, kReal16 = 2, kRealBf16 = 14 };

/// False if no kernel knows the type.
inline bool element_of(int type, Element* element) {
  switch (type) {
    case kReal32:
      *element = Element::kF32;
      return true;
    case kReal64:
      *element = Element::kF64;
      return true;
    case kReal16:
      *element = Element::kF16;
      return true;
    case kRealBf16:
      *element = Element::kBf16;
      return true;
    default:
      return false;
  }
}

/// A factor of the caller's: at this address, of the host or of the device by the pointer mode.
using Factor = const void*;

/// c = alpha * a * b + beta * c, where c has `rows` rows and `columns` columns and a has `inner`
/// columns; for each matrix of a batch.
template <class Number>
struct Product {
  long long rows, columns, inner;
  Factor alpha;
  Matrix a, b;
  Factor beta;
  Matrix c;
  int batch = 1;
  /// The elements of a and b, and of c. Those of 16 bits are computed in float.
  Element in = kNative<Number>, out = kNative<Number>;
  /// The addresses of the matrices of a batch lie at a, b and c.
  bool indirect = false;
};

/// c = alpha * a + beta * b. A matrix whose factor is 0 is not read.
template <class Number>
struct Sum {
  long long rows, columns;
  Factor alpha;
  Matrix a;
  Factor beta;
  Matrix b, c;
};

/// The numbers that `reduce` finds in a vector: the root of the sum of squares, the sum of absolute
/// values, the sum of products with a second vector, the index of the largest and of the smallest
/// absolute value, where the first is 1.
enum class Reduction : unsigned { kNorm, kAbsoluteSum, kProducts, kLargest, kSmallest };

/// Computes on the handle's stream. `name`: the function that the program called; where the kernels
/// cannot be loaded, or a launch was skipped before, the computation is skipped and counted under
/// this name.
template <class Number>
Status multiply(Handle& handle, const char* name, const Product<Number>& product);
template <class Number>
Status add(Handle& handle, const char* name, const Sum<Number>& sum);
/// y = alpha * x + y, and x = alpha * x, for `count` elements.
template <class Number>
Status add(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x,
           const Matrix& y);
template <class Number>
Status scale(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x);
/// y = x; with `swaps`, x = y as well.
template <class Number>
Status move(Handle& handle, const char* name, long long count, const Matrix& x, const Matrix& y,
            bool swaps);
/// Writes *result; waits for it in the pointer mode of the host. `index_bytes`: the size of the
/// result, if it is an index. `element`: the type of the vectors and of a result that is no index.
struct Vectors {
  long long count;
  Matrix x, y;
  void* result;
  int index_bytes = 0;
};
Status reduce(Handle& handle, const char* name, Reduction kind, Element element,
              const Vectors& vectors);

/// Makes the context of device 0's runtime current if the calling thread has none, as NVIDIA's
/// library does by its first call of the runtime.
void need_context() noexcept;

/// Ends the kernels that were loaded for a handle.
void unload(Handle& handle) noexcept;

}  // namespace cuvmm::blas
