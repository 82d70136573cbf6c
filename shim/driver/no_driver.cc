// SPDX-License-Identifier: Apache-2.0
#include "shim/driver/no_driver.h"

#include <cuda.h>

#include <atomic>

#include "api/driver/driver.h"
#include "shim/output/output.h"

namespace cuvmm::shim {

namespace {

// These take no parameter: in the C calling conventions of x86-64 and aarch64 the caller owns the
// argument registers and stack, so they may stand in for any function that returns a CUresult.
CUresult not_found() { return CUDA_ERROR_NOT_FOUND; }
CUresult no_device() { return CUDA_ERROR_NO_DEVICE; }

CUresult refused_multicast() {
  static std::atomic<bool> printed{false};
  if (!printed.exchange(true)) {
    say("multicast (cuMulticast*, cuLogicalEndpoint*, cuFabricCpy*) is refused with "
        "CUDA_ERROR_NOT_SUPPORTED: on a real driver it can put GPUs that others share out of "
        "service. CUVMM_ALLOW_MULTICAST=1 lets it through");
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult error_name(CUresult error, const char** text) {
  // One string for each code, which lives as long as the process, as the driver's strings do; there
  // are few codes.
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  static const auto* const names = [] {
    auto* table = new std::array<std::string, 1000>;
    for (std::size_t code = 0; code < table->size(); ++code) {
      (*table)[code] = result_name(static_cast<CUresult>(code));
    }
    return table;
  }();
  const auto code = static_cast<std::size_t>(error);
  if (code >= names->size() || (*names)[code].find('(') != std::string::npos) {
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
  }
  *text = (*names)[code].c_str();
  return CUDA_SUCCESS;
}

CUresult driver_version(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 0;
  return CUDA_SUCCESS;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void* missing_function(std::string_view name, bool have_driver) {
  if (have_driver) return address(&not_found);
  if (name == "cuGetErrorName" || name == "cuGetErrorString") return address(&error_name);
  if (name == "cuDriverGetVersion") return address(&driver_version);
  return address(&no_device);
}

void* refused_multicast_function() { return address(&refused_multicast); }

}  // namespace cuvmm::shim
