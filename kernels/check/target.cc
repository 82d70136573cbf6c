// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/target.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace cuvmm::kernels {

namespace {

constexpr unsigned kArchitectures[] = {10, 11, 12, 13,  20,  21,  30,  32,  35, 37, 50,
                                       52, 53, 60, 61,  62,  70,  72,  75,  80, 86, 87,
                                       88, 89, 90, 100, 101, 103, 110, 120, 121};

struct Need {
  std::string_view base;
  unsigned least;     ///< architecture
  unsigned only = 0;  ///< the single architecture that has it, with the suffix a; 0: all later
};
constexpr Need kNeeds[] = {
    {"activemask", 30}, {"applypriority", 80},  {"bmsk", 70},      {"createpolicy", 80},
    {"discard", 80},    {"dp2a", 61},           {"dp4a", 61},      {"elect", 90},
    {"fns", 30},        {"griddepcontrol", 90}, {"ldmatrix", 75},  {"lop3", 50},
    {"match", 70},      {"mbarrier", 80},       {"mma", 70},       {"multimem", 90},
    {"nanosleep", 70},  {"redux", 80},          {"shf", 32},       {"stmatrix", 90},
    {"szext", 70},      {"tanh", 75},           {"wgmma", 90, 90}, {"wmma", 70},
};

}  // namespace

Target target_named(std::string_view name) {
  constexpr std::string_view kPrefix = "sm_";
  Target target;
  if (!name.starts_with(kPrefix)) return target;
  name.remove_prefix(kPrefix.size());
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
    target.suffix = name.back();
    name.remove_suffix(1);
  }
  unsigned number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end) return {};
  if (std::ranges::find(kArchitectures, number) == std::end(kArchitectures)) return {};
  if (target.suffix != '\0' && number < 90) return {};
  target.architecture = number;
  return target;
}

bool runs_on(const Target& target, unsigned architecture) {
  switch (target.suffix) {
    case 'a':
      return target.architecture == architecture;
    case 'f':
      return target.architecture <= architecture && target.architecture / 10 == architecture / 10;
    default:
      return target.architecture <= architecture;
  }
}

bool has_instruction(const Target& target, std::string_view base) {
  const auto* const need = std::ranges::find(kNeeds, base, &Need::base);
  if (need == std::end(kNeeds)) return true;
  if (need->only != 0) return target.architecture == need->only && target.suffix == 'a';
  return target.architecture >= need->least;
}

std::string version_text(unsigned version) {
  return std::to_string(version / 100) + "." + std::to_string(version % 100);
}

}  // namespace cuvmm::kernels
