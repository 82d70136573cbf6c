// SPDX-License-Identifier: Apache-2.0
// One line of a stack: the shim's reports and the command's have the same.
#pragma once

#include "live/frames/frame.h"

namespace cuvmm::shim {

using live::Frame;
using live::Language;

}  // namespace cuvmm::shim
