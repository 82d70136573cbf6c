// SPDX-License-Identifier: Apache-2.0
// A driver profile: data about what one recorded driver on one GPU did, rule by rule.
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

/// A driver's behaviour for a call that breaks one rule.
struct Verdict {
  enum class Kind : std::uint8_t { kCode, kAccepts, kCrashes };
  Kind kind = Kind::kCode;
  CUresult code = CUDA_ERROR_INVALID_VALUE;  ///< for kCode; for kCrashes the documented code
};

/// As profiles write it: "accepts", "crashes" or "CUDA_ERROR_...".
std::string verdict_text(const Verdict& verdict);

/// Sizes in bytes. Read from TOML (see rulebook/profiles/); parse_profile() checks every field.
struct Profile {
  std::string name;      ///< "h200-580.159.04", "documented"
  std::string gpu;       ///< "NVIDIA H200"
  std::string driver;    ///< "580.159.04"
  std::string recorded;  ///< ISO date
  std::string source;    ///< how it was obtained
  /// For a platform: the machine that it stands for, in a few words.
  std::string about;
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
  /// Where device addresses begin, a multiple of kGranule below 2^47; 0: wherever the emulator
  /// finds space.
  std::uint64_t address_base = 0;
  std::uint64_t clique_devices = 0;  ///< devices of one clique; 0: all are in one
  Platform platform;  ///< limits and capabilities; device_count is the emulator's option
  std::map<int, int> attributes;  ///< CUdevice_attribute number -> value
  /// Attributes that replace those where there are several such GPUs: those of a switch fabric,
  /// say.
  std::map<int, int> attributes_of_several;
  std::array<Verdict, static_cast<std::size_t>(Rule::kCount)> verdicts;
  /// The answers of entry points that differ from the other entry points in a rule of all of them.
  std::map<std::pair<EntryPoint, Rule>, Verdict> entry_verdicts;
  /// For a platform: why an entry point answers with a code, with the source. EntryPoint::kCount
  /// stands for all entry points.
  std::map<std::pair<EntryPoint, CUresult>, std::string> because;
  std::array<bool, static_cast<std::size_t>(Quirk::kCount)> quirks{};
  bool has(Quirk quirk) const { return quirks[static_cast<std::size_t>(quirk)]; }
  /// The value of a device attribute on a machine of `devices` GPUs, if the profile knows it.
  std::optional<int> attribute(int number, int devices) const;

  /// Per entry point: the rules in the order in which this driver checks them. Rules that are not
  /// listed come after these, in the order of rulebook/*/check_*.cc.
  std::map<EntryPoint, std::vector<Rule>> order;

  /// Why the entry point answers so, if the profile says; else "".
  std::string reason(EntryPoint entry, CUresult result) const;
  const Verdict& verdict(EntryPoint entry, Rule rule) const;
  /// Called with the rule of each verdict that is looked up; may be null. A mutation run that
  /// changes verdicts learns from the calls which programs cannot notice the change.
  void (*on_verdict)(Rule rule) = nullptr;
  /// This driver's answer to a call with these violations: the code of the first violation, in the
  /// driver's order, for which the driver refuses the call; CUDA_SUCCESS if it accepts them all.
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
/// The TOML text of a profile. parse_profile() reads the text back to an equal profile.
std::string format_profile(const Profile& profile);
/// Names of the built-in profiles of drivers, the default (the newest recorded real one) first.
std::vector<std::string> builtin_profiles();
/// Names of the built-in profiles of platforms: each is a recorded driver, changed where such
/// machines are known to differ.
std::vector<std::string> platform_profiles();

}  // namespace cuvmm
