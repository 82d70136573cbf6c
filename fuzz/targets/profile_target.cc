// SPDX-License-Identifier: Apache-2.0
// Fuzzes driver profiles: any bytes are safe to read, and a profile that was read is written back
// unchanged.
#include <cstdlib>
#include <string_view>

#include "rulebook/profile/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuvmm;
  const ProfileResult read = parse_profile({reinterpret_cast<const char*>(data), size}, "input");
  if (!read.error.empty()) return 0;
  const std::string written = format_profile(read.profile);
  const ProfileResult again = parse_profile(written, "output");
  if (!again.error.empty() || format_profile(again.profile) != written) std::abort();
  return 0;
}
