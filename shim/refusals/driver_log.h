// SPDX-License-Identifier: Apache-2.0
// What the driver itself says of a call that it refused. Since CUDA 12.9 it keeps its last hundred
// sentences, by thread, whether anybody listens or not (measured: 580.159.04).
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace cuvmm::shim {

struct DriverLog {
  /// cuLogsDumpToMemory; null where the driver has none.
  CUresult (*dump)(unsigned* since, char* buffer, std::size_t* size, unsigned flags) = nullptr;

  /// The sentences about the calling thread's last refused call, if that was one of `function`;
  /// else "".
  std::string about(std::string_view function) const;
};

/// The same in a dump's text, for a thread by the number that the driver gives it: pthread_self().
std::string sentences_about(std::string_view function, std::string_view log,
                            unsigned long long thread);

}  // namespace cuvmm::shim
