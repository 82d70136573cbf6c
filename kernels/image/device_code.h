// SPDX-License-Identifier: Apache-2.0
// What an image of device code says of itself: the names of its kernels, the sizes of its
// variables.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/image/code_bytes.h"

namespace cuvmm::kernels {

struct Module;

struct Parameter {
  std::size_t offset = 0, size = 0;  ///< bytes, in what a launch passes
};

struct KernelCode {
  std::string name;
  int registers = 0;     ///< of each thread; 0 where only a compiler could tell
  int shared_bytes = 0;  ///< static
  int local_bytes = 0;   ///< of each thread
  int constant_bytes = 0;
  /// Nothing where the image does not say.
  std::optional<std::vector<Parameter>> parameters{};
};

struct VariableCode {
  std::string name;
  std::size_t size = 0;
  std::string contents;  ///< what it begins with; zeros follow
  bool constant = false;
  /// Addresses of variables in what it begins with.
  struct Reference {
    std::size_t offset = 0;
    std::string name;
    std::uint64_t addend = 0;
  };
  std::vector<Reference> references{};
};

struct DeviceCode {
  std::vector<KernelCode> kernels;
  std::vector<VariableCode> variables;
  /// A part cannot be unpacked: any name may be that of a kernel.
  bool hidden = false;
  /// What kernels can be run from; null: there is no PTX, or it cannot be unpacked.
  std::shared_ptr<const Module> ptx;
  std::string error{};  ///< what is wrong with PTX, and where

  const KernelCode* kernel(std::string_view name) const;
  const VariableCode* variable(std::string_view name) const;
};

/// The GPU that code is looked for.
struct Capability {
  int major = 0, minor = 0;
};

/// Reads a cubin, a fat binary or PTX text; of an unknown size, they are believed as far as memory
/// can be read. INVALID_IMAGE for what is none of them, NO_BINARY_FOR_GPU where nothing in it is
/// for `gpu`, INVALID_PTX, and `code.error`, for PTX that breaks its grammar.
CUresult read_device_code(const CodeBytes& image, Capability gpu, DeviceCode& code);

/// The parts of read_device_code().
CUresult read_cubin(const CodeBytes& image, Capability gpu, DeviceCode& code);
CUresult read_ptx(std::string_view text, DeviceCode& code);

}  // namespace cuvmm::kernels
