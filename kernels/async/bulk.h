// SPDX-License-Identifier: Apache-2.0
// Copies of many bytes, and stores that a barrier counts.
#pragma once

#include "kernels/instruction/site.h"

namespace cuvmm::kernels {

/// Decodes cp.async.bulk, and cp.reduce.async.bulk where `reduces`; the modifiers before `bulk` are
/// taken.
void decode_bulk(Site& site, bool reduces);

/// Decodes st.async, whose modifier `async` is taken.
void decode_store_async(Site& site);

}  // namespace cuvmm::kernels
