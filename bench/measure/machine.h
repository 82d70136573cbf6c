// SPDX-License-Identifier: Apache-2.0
// Loads a libcuda to measure, and makes the calls that a program needs before its first VMM call.
#pragma once

#include <string>

#include "api/driver/driver.h"
#include "api/sizes.h"

namespace cuvmm::bench {

/// One column of the tables.
struct Variant {
  std::string name;  ///< "bare", "shim", ...
  Driver driver;
  void* library = nullptr;
};

/// Ends the program with a sentence unless `result` is CUDA_SUCCESS.
void must(CUresult result, const char* what);

/// Loads the libcuda at `path`, initialises it and makes device 0's primary context current. Ends
/// the program if that fails.
Variant open_variant(std::string name, const std::string& path);

/// Makes device 0's primary context current in this thread.
void use_device(const Driver& driver);

/// Properties of memory on device 0. `shareable`: it can be exported as a POSIX descriptor.
CUmemAllocationProp device_memory(bool shareable = false);

/// `count` mappings of one allocation in one reservation. The destructor unmaps them.
class LiveMappings {
 public:
  LiveMappings(const Driver& driver, std::size_t count);
  ~LiveMappings();
  LiveMappings(const LiveMappings&) = delete;
  LiveMappings& operator=(const LiveMappings&) = delete;

  /// Lets device 0 use all of them.
  void give_access() const;
  /// The address of the first mapping; 0 if there is none.
  CUdeviceptr base() const { return base_; }

 private:
  const Driver& driver_;
  std::size_t size_;
  CUdeviceptr base_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
};

}  // namespace cuvmm::bench
