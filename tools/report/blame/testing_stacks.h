// SPDX-License-Identifier: Apache-2.0
// Frames of well-known places, for tests.
#pragma once

#include <string>
#include <utility>

#include "live/frames/frame.h"

namespace cuvmm::tools {

inline live::Frame native(std::string module, std::string function = "f", std::string file = "") {
  return {std::move(function), std::move(module), 16, std::move(file), 1};
}
inline live::Frame python(std::string file, std::string function = "f") {
  return {std::move(function), "", 0, std::move(file), 1, live::Language::kPython};
}

inline const live::Frame kTorchCuda =
    native("/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so");
inline const live::Frame kTorchPython =
    python("/v/lib/python3.12/site-packages/torch/nn/module.py");
inline const live::Frame kLoop = native("/v/bin/python3.12", "_PyEval_EvalFrameDefault");
inline const live::Frame kLibc = native("/lib/x86_64-linux-gnu/libc.so.6", "__libc_start_main");
inline const live::Frame kStart = native("/v/bin/python3.12", "_start");

}  // namespace cuvmm::tools
