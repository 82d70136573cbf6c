// SPDX-License-Identifier: Apache-2.0
// The functions for kernels that a libcuda calls: read an image, decode a kernel of it, run a
// launch. No other header of kernels/ is included from outside. A build without kernels (the CMake
// option CUVMM_KERNELS) implements this header by kernels/absent.cc, where none of these functions
// succeeds.
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
#include "kernels/texture/tensor_map.h"
#include "kernels/watch/checks.h"
#include "kernels/watch/source.h"

namespace cuvmm::kernels {

/// Whether this build can run kernels.
bool present();

/// Whether the image has PTX of this kernel, from which the kernel can run.
bool has_text(const DeviceCode& code, std::string_view kernel);

/// Links the PTX of images: a text in which one defines what another declares. INVALID_SOURCE, with
/// the reason in `why`, where two define a name; NOT_SUPPORTED where an image has no PTX.
CUresult link(const std::vector<const DeviceCode*>& inputs, std::string& text, std::string& why);

/// Decodes a kernel for which has_text() is true. `addresses` gives the addresses of the module's
/// variables. A kernel with an instruction that the decoder does not know cannot run at all.
Decoded decode(const DeviceCode& code, std::string_view kernel, const Addresses& addresses);

/// Runs a launch from its first thread to its last. `parameters` has Code::parameter_bytes bytes. A
/// launch whose threads execute more than `steps` instructions in all ends with a fault.
/// `checks` says which mistakes to look for that end no launch; they come into `found`.
Fault run(const Code& code, const Shape& shape, const std::vector<char>& parameters, Memory& memory,
          std::uint64_t steps, const Checks& checks, std::vector<Fault>& found);

/// The source of a line of an image's PTX, as the compiler's option -lineinfo leaves it there; line
/// 0 where it left nothing.
SourceLine source_of(const DeviceCode& code, int ptx_line);

}  // namespace cuvmm::kernels
