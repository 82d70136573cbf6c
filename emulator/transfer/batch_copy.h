// SPDX-License-Identifier: Apache-2.0
// Copies with attributes, batches of them, and decompression (area `copy` of entry_points.def).
#pragma once

#include "emulator/core/emulator.h"

namespace cuvmm::emulator {

/// `perform`: false only checks whether the batch would be done.
CUresult run_batch(Emulator&, const calls::MemcpyBatchAsync&, bool perform = true);
CUresult run_batch(Emulator&, const calls::MemcpyBatchAsync_v2&, bool perform = true);
CUresult run_batch(Emulator&, const calls::Memcpy3DBatchAsync&, bool perform = true);
CUresult run_batch(Emulator&, const calls::Memcpy3DBatchAsync_v2&, bool perform = true);
CUresult run_batch(Emulator&, const calls::MemcpyWithAttributesAsync&, bool perform = true);
CUresult run_batch(Emulator&, const calls::Memcpy3DWithAttributesAsync&, bool perform = true);
CUresult run_batch(Emulator&, const calls::MemBatchDecompressAsync&, bool perform = true);

}  // namespace cuvmm::emulator
