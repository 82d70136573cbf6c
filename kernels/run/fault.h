// SPDX-License-Identifier: Apache-2.0
// How a kernel fails.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

namespace cuvmm::kernels {

/// The kind of a thread's mistake.
enum class Wrong : std::uint8_t {
  kNone,
  kOutside,     ///< an access where no memory is
  kNoAccess,    ///< an access to memory that the device may not use so
  kMisaligned,  ///< an access at an address that is no multiple of its size
  kSpace,       ///< an access outside of shared, local or parameter memory
  kUnwritten,   ///< a load of bytes that nobody wrote
  kSharedRace,  ///< two threads access shared memory in no order, and one of them writes
  kGlobalRace,  ///< the same in global memory
  kStuck,       ///< all threads of a block wait, and none will go on
  kDivergent,   ///< threads of a warp wait for a barrier at different instructions
  kCount,       ///< a barrier for a number of threads that is no number of warps
  kMask,        ///< a thread takes part in an instruction whose mask does not have it
};

struct Fault {
  CUresult code = CUDA_SUCCESS;
  std::string what;           ///< a message: the failure, and its address
  std::uint64_t address = 0;  ///< of device memory; 0: the failure has no address
  int line = 0;               ///< of the PTX; 0: no instruction failed
  Wrong wrong = Wrong::kNone;
  int other_line = 0;  ///< of the PTX: what another thread did; 0: no other thread is meant
  unsigned block[3] = {}, thread[3] = {};

  explicit operator bool() const { return code != CUDA_SUCCESS; }
};

}  // namespace cuvmm::kernels
