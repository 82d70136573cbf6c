// SPDX-License-Identifier: Apache-2.0
// Writes the content of an image as text for people.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "recorder/last_calls/reading.h"

namespace cuvmm::last_calls {

/// Turns return addresses into lines of text, without indent.
using Symbolizer = std::function<std::vector<std::string>(const std::vector<std::uint64_t>&)>;

/// "cuMemMap(ptr=0x7f0000200000, size=2M, offset=0, handle=0x5581)".
std::string call_text(const Reading& reading, const CallSeen& call);
/// "CUDA_SUCCESS", "has not returned".
std::string end_text(const CallSeen& call);
/// "mapping 0x7f0000200000 (2 MiB), device 0".
std::string object_text(ObjectKind kind, std::uint64_t base, std::uint64_t size, int device);
/// "1.20 ms", "3 s": a text for nanoseconds.
std::string time_text(std::uint64_t ns);

/// The moment from which the last calls are counted back: the fault, or else the last known moment.
struct Moment {
  std::uint64_t call = 0;  ///< sequence
  std::uint64_t ns = 0;    ///< nanoseconds before the last known moment
};
Moment last_moment(const Reading& reading);
/// "3 calls, 1.20 ms before".
std::string before_text(const Moment& moment, std::uint64_t call, std::uint64_t ns);

/// The last ends of memory and of address ranges before the moment, the newest first.
std::vector<const EndSeen*> last_ends(const Reading& reading, const Moment& moment,
                                      std::size_t most);
/// The calls that queued work on a device before the moment, the newest first.
std::vector<const CallSeen*> last_launches(const Reading& reading, const Moment& moment);

/// The objects at an address or near it, one sentence each; never empty.
std::vector<std::string> near_address(const Reading& reading, std::uint64_t address);

/// "a kernel or a copy used an address that it may not".
const char* fault_words(std::uint32_t result);

/// Explains the fault, or the end of the process: the objects that ended last, and the work that
/// was launched since. Lines begin with `indent`.
std::string explanation_text(const Reading& reading, const Symbolizer& symbolize,
                             const std::string& indent);

}  // namespace cuvmm::last_calls
