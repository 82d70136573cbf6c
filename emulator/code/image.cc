// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/image.h"

#include <atomic>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "emulator/base/say.h"
#include "emulator/code/launch.h"
#include "emulator/core/emulator.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

// The newest version of PTX that a driver of this CUDA version reads, 900 for 9.0; 0: not known.
unsigned newest_ptx(int cuda) {
  const auto major = static_cast<unsigned>(cuda) / 1000,
             minor = static_cast<unsigned>(cuda) % 1000 / 10;
  // CUDA 12.5 and 12.6 have PTX 8.5; the later ones of CUDA 12 are behind by one.
  if (major == 12) return 800 + (minor > 5 ? minor - 1 : minor);
  return major >= 13 ? (major - 4) * 100 + minor : 0;
}

void say_newer(int architecture, const kernels::Capability& gpu) {
  static std::atomic<bool> was_printed{false};
  if (was_printed.exchange(true)) return;
  note("the program's kernels are for sm_" + std::to_string(architecture) +
       " and newer. A GPU of this profile, sm_" + std::to_string(gpu.major * 10 + gpu.minor) +
       ", refuses them (CUDA_ERROR_NO_BINARY_FOR_GPU); the emulator runs their PTX");
}

CUresult read(const kernels::CodeBytes& bytes, std::shared_ptr<Image>& image,
              const Reading& reading) {
  if (!kernels::present()) return refuse_without_kernels();
  const kernels::Capability gpu{*default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                *default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  auto read = std::make_shared<Image>();
  const kernels::Compiler compiler{reading.architecture,
                                   newest_ptx(Emulator::get().profile.cuda_version), reading.links};
  const CUresult result = kernels::read_device_code(bytes, gpu, read->code, compiler);
  if (result == CUDA_SUCCESS) {
    if (read->code.newer != 0) say_newer(read->code.newer, gpu);
    image = std::move(read);
    return result;
  }
  std::string why = read->code.error;
  if (!why.empty()) {
    static std::atomic<bool> printed{false};
    if (!printed.exchange(true)) complain("PTX, " + why + " (printed once)");
  } else if (result == CUDA_ERROR_INVALID_IMAGE) {
    why = "the image is neither PTX, nor a cubin, nor a fat binary";
  }
  if (reading.log) *reading.log = std::move(why);
  image = std::make_shared<Image>();
  image->refusal = result;
  return result;
}

}  // namespace

CUresult read_image(const void* bytes, std::shared_ptr<Image>& image, const Reading& reading) {
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  return read({static_cast<const char*>(bytes), kernels::CodeBytes::kUnknown}, image, reading);
}

CUresult read_image_file(const char* path, std::shared_ptr<Image>& image) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) return CUDA_ERROR_INVALID_IMAGE;
  return read({bytes.data(), bytes.size()}, image, {});
}

}  // namespace cuvmm::emulator
