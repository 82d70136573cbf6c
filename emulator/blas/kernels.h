// SPDX-License-Identifier: Apache-2.0
// The computations that the library carries out: it launches kernels of its own.
#pragma once

#include "emulator/blas/blas.h"

namespace cuvmm::blas {

/// A matrix in the memory of the device, or a vector. The distances count elements.
struct Matrix {
  CUdeviceptr first = 0;
  long long between_rows = 1, between_columns = 0;
  long long between_matrices = 0;  ///< of a batch
};

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
};

/// Computes on the handle's stream. `name`: the function that the program called; where the kernels
/// cannot be loaded, or a launch was skipped before, the computation is skipped and counted under
/// this name.
template <class Number>
Status multiply(Handle& handle, const char* name, const Product<Number>& product);
/// y = alpha * x + y, and x = alpha * x, for `count` elements.
template <class Number>
Status add(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x,
           const Matrix& y);
template <class Number>
Status scale(Handle& handle, const char* name, long long count, Factor alpha, const Matrix& x);
/// *result = the sum of x[i] * y[i]; waits for it in the pointer mode of the host.
template <class Number>
Status dot(Handle& handle, const char* name, long long count, const Matrix& x, const Matrix& y,
           void* result);

/// Ends the kernels that were loaded for a handle.
void unload(Handle& handle) noexcept;

}  // namespace cuvmm::blas
