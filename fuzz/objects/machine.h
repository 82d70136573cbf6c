// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a program about objects on a driver.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "fuzz/objects/op.h"

namespace cuvmm::fuzz::objects {

struct Functions {
#define CUVMM_FUNCTION(name) decltype(&::name) name = nullptr;
#include "fuzz/objects/functions.def"
  std::string error;  ///< why the library cannot be used; empty for none
};
/// The library stays loaded.
Functions load_functions(const std::string& path);

struct Answer {
  CUresult result = CUDA_SUCCESS;
  std::uint64_t value = 0;  ///< a handle or an address that was made; a number of nodes
  std::uint64_t size = 0;   ///< of a variable
  std::vector<unsigned char> bytes = {};  ///< that were read
  CUDA_ARRAY3D_DESCRIPTOR shape{};
};

inline constexpr unsigned kLinears = 2;         ///< memory of cuMemAlloc
inline constexpr unsigned kLinearBytes = 4096;  ///< of each

/// The i-th byte that a write with this value gives.
constexpr unsigned char written_byte(unsigned value, std::size_t i) {
  return static_cast<unsigned char>(std::size_t{value} * 31 + i * 7 + i / 256);
}

/// One context, and the values of all names. Names of ended objects keep their value.
class Machine {
 public:
  explicit Machine(const Functions& driver) : driver_(driver) {}
  /// Starts the driver. Returns the error, or "" if there is none. Called once, before each other
  /// function.
  std::string start();
  /// Makes new linear memory, and forgets all names.
  std::string begin();
  void end();
  Answer run(const Op& op);

 private:
  Answer run_array(const Op& op);
  Answer copy_block(const Op& op);
  Answer run_memory(const Op& op);
  Answer run_graph(const Op& op);
  Answer add_node(const Op& op);
  Answer run_code(const Op& op);
  Answer launch(const Op& op);
  CUdeviceptr address(unsigned memory, unsigned at) const { return memories_[memory] + at; }

  const Functions& driver_;
  CUcontext context_ = nullptr;
  CUarray arrays_[kNames] = {};
  CUdeviceptr memories_[kNames] = {};
  CUgraph graphs_[kNames] = {};
  CUgraphNode last_[kNames] = {};  ///< the newest node of each graph
  CUgraphExec executables_[kNames] = {};
  CUmodule modules_[kNames] = {};
  CUlibrary libraries_[kNames] = {};
  CUfunction functions_[kNames] = {};
};

}  // namespace cuvmm::fuzz::objects
