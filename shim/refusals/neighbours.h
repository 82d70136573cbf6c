// SPDX-License-Identifier: Apache-2.0
// Which other processes hold memory of a device, where it can be told: by NVML, and by what
// processes of this user show of themselves (recorder/holdings/reader.h).
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace cuvmm::shim {

struct Neighbour {
  int pid = 0;
  std::string program;      ///< as the kernel names it; "" unknown
  std::uint64_t bytes = 0;  ///< of the device, by NVML: its contexts too; 0 it does not say
  bool shows = false;       ///< the process shows what it holds: the next four are known
  std::uint64_t mapped = 0, unmapped = 0, pools = 0, plain = 0;
};

/// Who can be asked. Nobody is where the emulator is the driver: its memory is each process's own.
struct Neighbourhood {
  CUresult (*bus_id)(char* text, int length, CUdevice device) = nullptr;
  std::string nvml;  ///< the library to load; "" none
};

/// All but this process, those that hold most first; at most kMostNeighbours. `live` is a folder of
/// live files, or "". Takes no longer than `limit` for NVML, which is asked in a thread of its own.
/// Throws std::bad_alloc.
std::vector<Neighbour> neighbours_on(int device, const Neighbourhood& whom, const std::string& live,
                                     std::chrono::milliseconds limit);
inline constexpr std::size_t kMostNeighbours = 8;

/// The libnvidia-ml.so.1 that lies beside this libcuda, else the name for the loader.
std::string nvml_beside(const std::string& libcuda);

namespace detail {
/// What NVML says of the device with this bus id, and nothing if it does not say it in time.
std::vector<Neighbour> ask_nvml(const std::string& library, const std::string& bus_id,
                                std::chrono::milliseconds limit);
}  // namespace detail

}  // namespace cuvmm::shim
