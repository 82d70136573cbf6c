// SPDX-License-Identifier: Apache-2.0
// What an image says, as text for people.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "recorder/last_calls/reading.h"

namespace cuvmm::last_calls {

/// Return addresses as lines, without indent.
using Symbolizer = std::function<std::vector<std::string>(const std::vector<std::uint64_t>&)>;

/// "cuMemMap(ptr=0x7f0000200000, size=2M, offset=0, handle=0x5581)".
std::string call_text(const Reading& reading, const CallSeen& call);
/// "CUDA_SUCCESS", "has not returned".
std::string end_text(const CallSeen& call);
/// "mapping 0x7f0000200000 (2 MiB), device 0".
std::string object_text(ObjectKind kind, std::uint64_t base, std::uint64_t size, int device);
/// "1.20 ms", "3 s": of nanoseconds.
std::string time_text(std::uint64_t ns);

/// Where a look at the last calls begins: the fault, or the end of what is known.
struct Moment {
  std::uint64_t call = 0;  ///< sequence
  std::uint64_t ns = 0;    ///< before the last known moment
};
Moment last_moment(const Reading& reading);
/// "3 calls, 1.20 ms before".
std::string before_text(const Moment& moment, std::uint64_t call, std::uint64_t ns);

/// The ends of memory and addresses before the moment, the newest first.
std::vector<const EndSeen*> last_ends(const Reading& reading, const Moment& moment,
                                      std::size_t most);
/// Calls that queue work on a device, before the moment, the newest first.
std::vector<const CallSeen*> last_launches(const Reading& reading, const Moment& moment);

/// What lies at an address or near it, one sentence each; never empty.
std::vector<std::string> near_address(const Reading& reading, std::uint64_t address);

/// "a kernel or a copy used an address that it may not".
const char* fault_words(std::uint32_t result);

/// The fault, or the end of the process: what ended last, what was launched since. Lines begin
/// with `indent`.
std::string explanation_text(const Reading& reading, const Symbolizer& symbolize,
                             const std::string& indent);

}  // namespace cuvmm::last_calls
