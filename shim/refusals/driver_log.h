// SPDX-License-Identifier: Apache-2.0
// The driver's own sentences about a call that it refused. Since CUDA 12.9 a driver stores its last
// hundred sentences, by thread, even without a listener (measured: 580.159.04).
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace cuvmm::shim {

struct DriverLog {
  /// cuLogsDumpToMemory; null if the driver does not have it.
  CUresult (*dump)(unsigned* since, char* buffer, std::size_t* size, unsigned flags) = nullptr;

  /// The sentences about the calling thread's last refused call, if that was one of `function`;
  /// else "".
  std::string about(std::string_view function) const;
};

/// about() for the text of a dump, and for a thread by the driver's number for it: pthread_self().
std::string sentences_about(std::string_view function, std::string_view log,
                            unsigned long long thread);

}  // namespace cuvmm::shim
