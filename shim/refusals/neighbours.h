// SPDX-License-Identifier: Apache-2.0
// The other processes that hold memory of a device, as far as two sources tell: NVML, and the live
// files of this user's processes (recorder/holdings/reader.h).
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::shim {

struct Neighbour {
  int pid = 0;
  std::string program;      ///< the kernel's name for the program; "" unknown
  std::uint64_t bytes = 0;  ///< of the device, by NVML, including its contexts; 0 if NVML does not
                            ///< tell
  bool shows = false;       ///< the process has a live file: the next four are known
  std::uint64_t mapped = 0, unmapped = 0, pools = 0, plain = 0;
};

/// The sources that can be asked. Not used if the emulator is the driver, because the emulator's
/// memory belongs to one process.
struct Neighbourhood {
  CUresult (*bus_id)(char* text, int length, CUdevice device) = nullptr;
  std::string nvml;  ///< the library to load; "" none
};

/// All such processes except this one, those that hold most first; at most kMostNeighbours. `live`
/// is a folder of live files, or "". Waits no longer than `limit` for NVML, which a thread of its
/// own asks. Throws std::bad_alloc.
std::vector<Neighbour> neighbours_on(int device, const Neighbourhood& whom, const std::string& live,
                                     std::chrono::milliseconds limit);
inline constexpr std::size_t kMostNeighbours = 8;

/// The libnvidia-ml.so.1 that lies beside this libcuda, else the name for the loader.
std::string nvml_beside(const std::string& libcuda);

namespace detail {
/// NVML's list for the device with this bus id; empty if NVML does not answer in time.
std::vector<Neighbour> ask_nvml(const std::string& library, const std::string& bus_id,
                                std::chrono::milliseconds limit);
}  // namespace detail

}  // namespace cuvmm::shim
