// SPDX-License-Identifier: Apache-2.0
// Everything that a libcuda asks of kernels: an image is read, a kernel of it is decoded, a launch
// runs. No other header of kernels/ is included from outside. A build without kernels (the CMake
// option CUVMM_KERNELS) has kernels/absent.cc behind it, in which nothing of this succeeds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/image/device_code.h"
#include "kernels/run/code.h"
#include "kernels/run/fault.h"
#include "kernels/run/memory.h"
#include "kernels/run/shape.h"

namespace cuvmm::kernels {

/// Whether this build has kernels.
bool present();

/// Whether the image has PTX of this kernel, from which it can run.
bool has_text(const DeviceCode& code, std::string_view kernel);

/// Decodes all of a kernel for which has_text(). `addresses` says where the module's variables lie.
/// One instruction that is not known makes the whole kernel one that cannot run.
Decoded decode(const DeviceCode& code, std::string_view kernel, const Addresses& addresses);

/// Runs a launch from its first thread to its last. `parameters` are Code::parameter_bytes bytes;
/// a launch that takes more than `steps` instructions of threads is ended as a fault.
Fault run(const Code& code, const Shape& shape, const std::vector<char>& parameters, Memory& memory,
          std::uint64_t steps);

}  // namespace cuvmm::kernels
