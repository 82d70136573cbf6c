// SPDX-License-Identifier: Apache-2.0
// A driver profile: data that says what one driver on one GPU was seen to do, rule by rule.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rulebook/base/platform.h"
#include "rulebook/base/violation.h"
#include "rulebook/catalogue/rule.h"
#include "rulebook/profile/quirk.h"

namespace cuvmm {

/// What a driver does with a call that breaks one rule.
struct Verdict {
  enum class Kind : std::uint8_t { kCode, kAccepts, kCrashes };
  Kind kind = Kind::kCode;
  CUresult code = CUDA_ERROR_INVALID_VALUE;  ///< for kCode; for kCrashes the documented code
};

/// As profiles write it: "accepts", "crashes" or "CUDA_ERROR_...".
std::string verdict_text(const Verdict& verdict);

/// Sizes in bytes. Read from TOML (see rulebook/profiles/); every field of the file is checked.
struct Profile {
  std::string name;                ///< "h200-580.159.04", "documented"
  std::string gpu;                 ///< "NVIDIA H200"
  std::string driver;              ///< "580.159.04"
  std::string recorded;            ///< ISO date
  std::string source;              ///< how it was obtained
  std::string about;               ///< of a platform: what machine it stands for, in a few words
  int cuda_version = 0;            ///< what cuDriverGetVersion answers
  std::uint64_t total_memory = 0;  ///< per device
  std::uint64_t device_granularity_minimum = 0;
  std::uint64_t device_granularity_recommended = 0;
  std::uint64_t host_granularity_minimum = 0;
  std::uint64_t host_granularity_recommended = 0;
  std::uint64_t multicast_granularity_minimum = std::uint64_t{2} << 20;
  std::uint64_t multicast_granularity_recommended = std::uint64_t{2} << 20;
  std::uint64_t endpoint_bind_alignment = std::uint64_t{2} << 20;
  std::uint64_t endpoint_max_size = std::uint64_t{1} << 40;
  /// How many bindings of one multicast object may start in the middle of a granule.
  std::uint64_t multicast_unaligned_binds = 4;
  /// Where device addresses begin, a multiple of kGranule below 2^47; 0: wherever there is room.
  std::uint64_t address_base = 0;
  std::uint64_t clique_devices = 0;  ///< devices of one clique; 0: all are in one
  Platform platform;  ///< limits and capabilities; device_count is the emulator's option
  std::map<int, int> attributes;  ///< CUdevice_attribute number -> value
  /// What replaces them where there are several such GPUs: a switch fabric, say.
  std::map<int, int> attributes_of_several;
  std::array<Verdict, static_cast<std::size_t>(Rule::kCount)> verdicts;
  /// Where one entry point answers otherwise than the others to a rule of every entry point.
  std::map<std::pair<EntryPoint, Rule>, Verdict> entry_verdicts;
  /// Of a platform: why an entry point answers a code there, with the source. EntryPoint::kCount
  /// stands for all of them.
  std::map<std::pair<EntryPoint, CUresult>, std::string> because;
  std::array<bool, static_cast<std::size_t>(Quirk::kCount)> quirks{};
  bool has(Quirk quirk) const { return quirks[static_cast<std::size_t>(quirk)]; }
  /// The value of a device attribute on a machine of `devices` GPUs, if the profile knows it.
  std::optional<int> attribute(int number, int devices) const;

  /// Per entry point: rules in the order in which this driver checks them. Rules not named come
  /// after, in the order of rulebook/*/check_*.cc.
  std::map<EntryPoint, std::vector<Rule>> order;

  /// Why it answers so, if the profile says; "" else.
  std::string reason(EntryPoint entry, CUresult result) const;
  const Verdict& verdict(EntryPoint entry, Rule rule) const;
  /// Is told of each verdict that is asked for; may be null. Whoever changes a verdict knows by it
  /// which programs cannot notice.
  void (*on_verdict)(Rule rule) = nullptr;
  /// What this driver answers to a call with these violations: the code of the first one that it
  /// refuses, by its order; CUDA_SUCCESS when it accepts them all.
  CUresult answer(EntryPoint entry, const Violations& violations) const;
};

struct ProfileResult {
  Profile profile;
  std::string error;  ///< "FILE:LINE:COLUMN: what was expected", empty on success
};

/// A built-in profile ("documented", "h200-580.159.04", "wsl2") or a path to a TOML file.
ProfileResult load_profile(const std::string& name_or_path);
/// Parses TOML text; `origin` is named in errors.
ProfileResult parse_profile(std::string_view text, const std::string& origin);
/// The TOML text of a profile, which parse_profile reads back to the same.
std::string format_profile(const Profile& profile);
/// Names of the built-in profiles of drivers, the default (the newest recorded real one) first.
std::vector<std::string> builtin_profiles();
/// Names of the built-in profiles of platforms: a recorded driver, but for what is known to be
/// different on such machines.
std::vector<std::string> platform_profiles();

}  // namespace cuvmm
