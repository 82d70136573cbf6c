// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/target.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace cuvmm::kernels {

namespace {

struct KnownTarget {
  unsigned architecture;
  unsigned version;  ///< of PTX, the first that has it: 803 for 8.3
};
constexpr KnownTarget kArchitectures[] = {
    {10, 100}, {11, 100},  {12, 102},  {13, 102},  {20, 200},  {21, 200},  {30, 300}, {32, 400},
    {35, 301}, {37, 401},  {50, 400},  {52, 401},  {53, 402},  {60, 500},  {61, 500}, {62, 500},
    {70, 600}, {72, 601},  {75, 603},  {80, 700},  {86, 701},  {87, 704},  {88, 704}, {89, 708},
    {90, 708}, {100, 806}, {101, 806}, {103, 808}, {110, 900}, {120, 807}, {121, 808}};
constexpr unsigned kHopper = 90, kHopperAlone = 800;  // the architecture, and the version of sm_90a

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
  Target target;
  const std::size_t underscore = name.find('_') + 1;
  const std::string_view prefix = name.substr(0, underscore);
  if (prefix != "sm_" && prefix != "compute_") return target;
  name.remove_prefix(underscore);
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
    target.suffix = name.back();
    name.remove_suffix(1);
  }
  unsigned number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end) return {};
  const auto* const known = std::ranges::find(kArchitectures, number, &KnownTarget::architecture);
  if (known == std::end(kArchitectures)) return {};
  if (target.suffix != '\0' && number < kHopper) return {};
  target.architecture = number;
  target.version = number == kHopper && target.suffix == 'a' ? kHopperAlone : known->version;
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
