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
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

CUresult read(const kernels::CodeBytes& bytes, std::shared_ptr<Image>& image,
              std::string* log = nullptr) {
  if (!kernels::present()) return refuse_without_kernels();
  const kernels::Capability gpu{*default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                                *default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  auto read = std::make_shared<Image>();
  const CUresult result = kernels::read_device_code(bytes, gpu, read->code);
  if (result == CUDA_SUCCESS) {
    image = std::move(read);
  } else if (!read->code.error.empty()) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) complain("PTX, " + read->code.error + " (said once)");
    if (log) *log = read->code.error;
  }
  return result;
}

}  // namespace

CUresult read_image(const void* bytes, std::shared_ptr<Image>& image, std::string* log) {
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  return read({static_cast<const char*>(bytes), kernels::CodeBytes::kUnknown}, image, log);
}

CUresult read_image_file(const char* path, std::shared_ptr<Image>& image) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return read({bytes.data(), bytes.size()}, image);
}

}  // namespace cuvmm::emulator
