// SPDX-License-Identifier: Apache-2.0
#include "emulator/code/image.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

CUresult read(const char* bytes, std::size_t limit, std::shared_ptr<Image>& image) {
  const Capability gpu{*default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                       *default_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  auto read = std::make_shared<Image>();
  const CUresult result = read_device_code(bytes, limit, gpu, read->code);
  if (result == CUDA_SUCCESS) image = std::move(read);
  return result;
}

}  // namespace

CUresult read_image(const void* bytes, std::shared_ptr<Image>& image) {
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  return read(static_cast<const char*>(bytes), SIZE_MAX, image);
}

CUresult read_image_file(const char* path, std::shared_ptr<Image>& image) {
  if (!path) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return read(bytes.data(), bytes.size(), image);
}

}  // namespace cuvmm::emulator
