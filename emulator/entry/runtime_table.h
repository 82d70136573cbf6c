// SPDX-License-Identifier: Apache-2.0
// A private interface between the emulator's libcudart and its libcuda: a table that
// cuGetExportTable returns for an id that no other driver has.
#pragma once

#include <cstddef>

namespace cuvmm {

inline constexpr unsigned char kRuntimeTableId[16] = {'c', 'u', 'v', 'm', 'm', ' ', 'r', 'u',
                                                      'n', 't', 'i', 'm', 'e', ' ', '1', 0};

struct RuntimeTable {
  std::size_t size;  ///< of the table in bytes; later versions of the table are longer
  /// Counts a launch that nothing carries out. The driver keeps the pointer `function`.
  void (*skip_launch)(const char* function);
  /// Queues such a launch on a stream of the thread's context, or adds it to the graph that the
  /// stream captures. Returns a CUresult.
  int (*queue_launch)(const char* function, void* stream);
  /// Whether this is the handle of a kernel or of a function, of the present or the past.
  bool (*is_kernel)(const void* handle);
  /// Whether a launch of this process was skipped, so that its memory may lack results.
  bool (*has_skipped)();
};

}  // namespace cuvmm
