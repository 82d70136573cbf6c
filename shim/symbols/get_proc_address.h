// SPDX-License-Identifier: Apache-2.0
// cuvmm's cuGetProcAddress, in both ABIs.
#pragma once

namespace cuvmm::shim {

/// The function for programs that ask with this CUDA version: 4 parameters before 12.0, then 5.
void* get_proc_address_of(int version);

}  // namespace cuvmm::shim
