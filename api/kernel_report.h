// SPDX-License-Identifier: Apache-2.0
// The mistakes of kernels that the emulator looks for (CUVMM_KERNELS=check), and how it tells the
// shim. The two meet only at the exported functions below, which the shim looks up by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace cuvmm {

/// The mistakes of kernels that are looked for (docs/testing/kernels-check.md).
struct KernelChecks {
  bool memory = false, init = false, race = false, sync = false;
  bool any() const { return memory || init || race || sync; }
};

/// "check", "check:memory,race"; nothing when the text has another form.
inline std::optional<KernelChecks> parse_kernel_checks(std::string_view text) {
  if (text == "check") return KernelChecks{true, true, true, true};
  if (!text.starts_with("check:")) return std::nullopt;
  text.remove_prefix(std::string_view("check:").size());
  constexpr std::pair<std::string_view, bool KernelChecks::*> kNames[] = {
      {"memory", &KernelChecks::memory},
      {"init", &KernelChecks::init},
      {"race", &KernelChecks::race},
      {"sync", &KernelChecks::sync}};
  KernelChecks checks;
  while (true) {
    const std::size_t comma = text.find(',');
    bool known = false;
    for (const auto& [name, member] : kNames) {
      if (name == text.substr(0, comma)) known = checks.*member = true;
    }
    if (!known) return std::nullopt;
    if (comma == std::string_view::npos) return checks;
    text.remove_prefix(comma + 1);
  }
}

struct KernelReport {
  /// The numbers are those of kernels::Wrong.
  enum class Kind : std::uint32_t {
    kNone,
    kOutside,
    kNoAccess,
    kMisaligned,
    kSpace,
    kUnwritten,
    kSharedRace,
    kGlobalRace,
    kStuck,
    kDivergent,
    kCount,
    kMask,
  };
  Kind kind = Kind::kNone;
  std::int32_t device = 0;
  std::uint64_t launch = 0;   ///< cuvmmEmulatorLaunch() after the call that launched the kernel
  std::uint64_t address = 0;  ///< of device memory; 0: the mistake has no such address
  std::uint64_t place = 0;    ///< a number for the kernel and the lines at fault
  /// The kernel, the line, the thread and its mistake: a whole sentence.
  char text[1024] = {};
};

/// Takes the oldest report out of the emulator's list into `out`; 0: the list is empty.
using TakeKernelReport = int(KernelReport* out);
inline constexpr char kTakeKernelReport[] = "cuvmmEmulatorTakeKernelReport";
/// The number of the launch that the calling thread made last; 0: none.
using LastLaunch = std::uint64_t();
inline constexpr char kLastLaunch[] = "cuvmmEmulatorLaunch";

}  // namespace cuvmm
