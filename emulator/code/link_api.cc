// SPDX-License-Identifier: Apache-2.0
// cuLink*: the emulator compiles nothing, because kernels run from their PTX. A single input is
// returned as the result, and its code runs; the PTX of several becomes one text. The answers to a
// link without inputs, and to calls behind cuLinkComplete, are an H100's.
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/base/say.h"
#include "emulator/code/image.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

/// The object behind a CUlinkState.
struct Link {
  struct Input {
    std::string bytes;
    std::shared_ptr<Image> image;
  };
  std::vector<Input> inputs;
  std::string image;
  bool complete = false;
};

// The result of a link without inputs: code with nothing in it.
constexpr char kNothing[] = ".version 8.0\n.target sm_52\n.address_size 64\n";

// The links by handle; read and written under the emulator's lock. Never destroyed: threads may
// outlive main.
std::map<CUlinkState, Link>& links() {
  static auto& all = *new std::map<CUlinkState, Link>;
  return all;
}

template <class Body>
CUresult on_link(CUlinkState state, Body&& body) noexcept {
  return locked([&](Emulator&) -> CUresult {
    const auto found = links().find(state);
    return found == links().end() ? CUDA_ERROR_INVALID_HANDLE : body(found->second);
  });
}

CUresult add(Link& link, CUjitInputType type, std::string&& input) {
  if (link.complete) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_CUBIN && type != CU_JIT_INPUT_FATBINARY) {
    note("cuLinkAddData and cuLinkAddFile take PTX, a cubin or a fat binary here");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  input.push_back('\0');  // the zero that ends PTX
  std::shared_ptr<Image> read;
  const CUresult result = read_image(input.data(), read, {.links = true});
  if (result != CUDA_SUCCESS) return result;
  link.inputs.push_back({std::move(input), std::move(read)});
  return CUDA_SUCCESS;
}

CUresult join(Link& link) {
  std::vector<const kernels::DeviceCode*> inputs;
  for (const Link::Input& each : link.inputs) inputs.push_back(&each.image->code);
  std::string why;
  const CUresult joined = kernels::link(inputs, link.image, why);
  if (joined != CUDA_SUCCESS) complain("cuLinkComplete: " + why);
  link.image.push_back('\0');
  return joined;
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuLinkCreate_v2, unsigned count, CUjit_option* options, void** values,
                      CUlinkState* out) {
  return with_context([&](Emulator&, Context&) -> CUresult {
    if (!out || (count != 0 && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    static std::uintptr_t last = std::uintptr_t{0x11ab} << 32;
    *out = reinterpret_cast<CUlinkState>(last += 0x10);
    links()[*out];
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuLinkCreate, cuLinkCreate_v2);

CUVMM_DRIVER_FUNCTION(cuLinkAddData_v2, CUlinkState state, CUjitInputType type, void* data,
                      size_t size, const char*, unsigned, CUjit_option*, void**) {
  return on_link(state, [&](Link& link) -> CUresult {
    if (!data || size == 0) return CUDA_ERROR_INVALID_VALUE;
    return add(link, type, std::string(static_cast<const char*>(data), size));
  });
}
CUVMM_DRIVER_ALIAS(cuLinkAddData, cuLinkAddData_v2);

CUVMM_DRIVER_FUNCTION(cuLinkAddFile_v2, CUlinkState state, CUjitInputType type, const char* path,
                      unsigned, CUjit_option*, void**) {
  return on_link(state, [&](Link& link) -> CUresult {
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    return add(link, type, std::string{std::istreambuf_iterator<char>(file), {}});
  });
}
CUVMM_DRIVER_ALIAS(cuLinkAddFile, cuLinkAddFile_v2);

// The image belongs to the link, and ends with it.
CUVMM_DRIVER_FUNCTION(cuLinkComplete, CUlinkState state, void** image, size_t* size) {
  return on_link(state, [&](Link& link) -> CUresult {
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    if (link.complete) return CUDA_ERROR_INVALID_HANDLE;
    if (link.inputs.empty()) link.image.assign(kNothing, sizeof kNothing);
    if (link.inputs.size() == 1) link.image = link.inputs[0].bytes;
    if (link.inputs.size() > 1) {
      const CUresult joined = join(link);
      if (joined != CUDA_SUCCESS) return joined;
    }
    // The inputs are complete now, so nothing else may define what this one declares.
    std::shared_ptr<Image> read;
    if (read_image(link.image.data(), read) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_SOURCE;
    link.complete = true;
    *image = link.image.data();
    if (size) *size = link.image.size();
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuLinkDestroy, CUlinkState state) {
  return locked([&](Emulator&) -> CUresult {
    return links().erase(state) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace cuvmm::emulator
