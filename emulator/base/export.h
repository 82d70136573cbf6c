// SPDX-License-Identifier: Apache-2.0
// How the libraries beside libcuda (libcudart, libnvidia-ml) define their symbols. Every
// declaration is written out here: NVIDIA's headers of these libraries are not needed to build, and
// one source file can implement several versions. (libcuda has emulator/core/export.h: <cuda.h>
// #defines many of its names, and a macro that passes a name on would expand it.)
#pragma once

/// CUVMM_EXPORT(int, cudaFoo, int* out) { body }: the exported function cudaFoo.
#define CUVMM_EXPORT(type, symbol, ...)                 \
  extern "C" __attribute__((visibility("default")))     \
  type exported_##symbol(__VA_ARGS__) __asm__(#symbol); \
  type exported_##symbol(__VA_ARGS__)

/// Exports a second name for a function defined in the same file.
#define CUVMM_EXPORT_ALIAS(symbol, target)                                  \
  extern "C" decltype(exported_##target) exported_##symbol __asm__(#symbol) \
      __attribute__((visibility("default"), alias(#target)))
