// SPDX-License-Identifier: Apache-2.0
// Frames of stacks, for tests.
#pragma once

#include <string>
#include <utility>

#include "frames/frame.h"

namespace cuvmm::tools {

inline frames::Frame native(std::string module, std::string function = "f", std::string file = "") {
  return {std::move(function), std::move(module), 16, std::move(file), 1};
}
inline frames::Frame python(std::string file, std::string function = "f") {
  return {std::move(function), "", 0, std::move(file), 1, frames::Language::kPython};
}

inline const frames::Frame kTorchCuda =
    native("/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so");
inline const frames::Frame kTorchPython =
    python("/v/lib/python3.12/site-packages/torch/nn/module.py");
inline const frames::Frame kLoop = native("/v/bin/python3.12", "_PyEval_EvalFrameDefault");
inline const frames::Frame kLibc = native("/lib/x86_64-linux-gnu/libc.so.6", "__libc_start_main");
inline const frames::Frame kStart = native("/v/bin/python3.12", "_start");

}  // namespace cuvmm::tools
