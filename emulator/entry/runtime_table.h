// SPDX-License-Identifier: Apache-2.0
// A private interface between our libcudart and the emulator's libcuda: a table that
// cuGetExportTable returns for an id of our own. No other driver has it.
#pragma once

#include <cstddef>

namespace cuvmm {

inline constexpr unsigned char kRuntimeTableId[16] = {'c', 'u', 'v', 'm', 'm', ' ', 'r', 'u',
                                                      'n', 't', 'i', 'm', 'e', ' ', '1', 0};

struct RuntimeTable {
  std::size_t size;  ///< of the table in bytes; later ones are longer
  /// Takes note of a launch that nothing carries out. `function` is the caller's, and is kept.
  void (*skip_launch)(const char* function);
  /// The same in the order of a stream of the thread's context, or as a node of the graph that it
  /// captures: the answer is a CUresult.
  int (*queue_launch)(const char* function, void* stream);
};

}  // namespace cuvmm
