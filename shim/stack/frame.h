// SPDX-License-Identifier: Apache-2.0
// One line of a stack, for the shim's reports and the command's.
#pragma once

#include "frames/frame.h"

namespace cuvmm::shim {

using frames::Frame;
using frames::Language;

}  // namespace cuvmm::shim
