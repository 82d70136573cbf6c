// SPDX-License-Identifier: Apache-2.0
// How images of device code are read.
#pragma once

#include <memory>
#include <string>

#include "emulator/objects/modules.h"

namespace cuvmm::emulator {

struct Reading {
  std::string* log = nullptr;  ///< receives the reason why an image is refused
  unsigned architecture = 0;   ///< that PTX is compiled for; 0: the device's
  bool links = false;          ///< other images may define what this one declares
};

/// Reads an image in memory, whose header gives its size. If its code is refused, `image` has no
/// code, and the reason.
CUresult read_image(const void* bytes, std::shared_ptr<Image>& image, const Reading& reading = {});
CUresult read_image_file(const char* path, std::shared_ptr<Image>& image);
/// Either out-parameter may be null. NOT_FOUND: the module has no such variable.
CUresult find_variable(const Module& module, const char* name, CUdeviceptr* address,
                       std::size_t* bytes);

}  // namespace cuvmm::emulator
