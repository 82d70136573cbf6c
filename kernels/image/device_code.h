// SPDX-License-Identifier: Apache-2.0
// The contents of an image of device code: the names and needs of its kernels, and its variables.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/check/compiler.h"
#include "kernels/image/code_bytes.h"

namespace cuvmm::kernels {

struct Module;

struct Parameter {
  std::size_t offset = 0, size = 0;  ///< bytes, in the parameters that a launch passes
};

struct KernelCode {
  std::string name;
  int registers = 0;       ///< of each thread; 0 where only a compiler could tell the number
  int shared_bytes = 0;    ///< static shared memory of a block, in bytes
  int local_bytes = 0;     ///< of each thread, in bytes
  int constant_bytes = 0;  ///< of the module's constant variables
  /// The architecture of the PTX that the kernel comes from, 80 for sm_80; 0: not known.
  int virtual_architecture = 0;
  int most_threads = 0;        ///< of a block, by the kernel's own limit; 0: it has none
  bool exact_threads = false;  ///< a block has exactly most_threads
  unsigned cluster[3] = {};    ///< the blocks of a cluster that the kernel asks for; 0: any
  /// Nothing where the image does not describe the parameters.
  std::optional<std::vector<Parameter>> parameters{};
};

struct VariableCode {
  std::string name;
  std::size_t size = 0;
  std::string contents;  ///< the initial bytes; zeros follow
  bool constant = false;
  bool managed = false;  ///< the host may access it as well
  /// The addresses of other variables in the initial bytes.
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
  /// The architecture of the PTX, 100 for sm_100, where a GPU of the kind is too old for it; else
  /// 0.
  int newer = 0;
  /// A part of the image cannot be unpacked, so any name may be a kernel's.
  bool hidden = false;
  /// The PTX that kernels can run from; null: the image has none, or it cannot be unpacked.
  std::shared_ptr<const Module> ptx;
  std::string error{};  ///< the first error in the PTX, with its place

  const KernelCode* kernel(std::string_view name) const;
  const VariableCode* variable(std::string_view name) const;
};

/// The compute capability of the GPU that code is chosen for.
struct Capability {
  int major = 0, minor = 0;
};

/// Reads a cubin, a fat binary or PTX text. Sizes in an image of unknown size are trusted as far as
/// memory can be read. INVALID_IMAGE for other bytes; NO_BINARY_FOR_GPU where no part of the image
/// is for `gpu`; INVALID_PTX or UNSUPPORTED_PTX_VERSION, with the reason in `code.error`, for PTX
/// that a driver refuses. In the structure that nvcc puts into a program, PTX for newer GPUs serves
/// where nothing else does, because any PTX can be run here (`code.newer`). A text of its own,
/// outside of a fat binary, is refused as `compiler` refuses it.
CUresult read_device_code(const CodeBytes& image, Capability gpu, DeviceCode& code,
                          const Compiler& compiler = {});

/// The readers that read_device_code() calls.
CUresult read_cubin(const CodeBytes& image, Capability gpu, DeviceCode& code);
/// `compiler`: null for a text that is taken as it is.
CUresult read_ptx(std::string_view text, DeviceCode& code, const Compiler* compiler);

}  // namespace cuvmm::kernels
