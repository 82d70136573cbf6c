// SPDX-License-Identifier: Apache-2.0
#include "api/documented_results/documented_results.h"

#include <algorithm>
#include <string_view>

#include "api/driver/driver.h"

namespace cuvmm {

namespace {

struct Row {
  EntryPoint entry;
  std::string_view names;
};
constexpr Row kRows[] = {
#define CUVMM_DOCUMENTED(Name, names) {EntryPoint::k##Name, names},
#include "api/documented_results/documented_results.def"
};

// First the codes for something that is used up or missing, which no program can prevent; then the
// codes about the arguments; last the codes that say that the driver is not there (NOT_INITIALIZED,
// DEINITIALIZED).
constexpr std::string_view kLikeliest[] = {
    "OUT_OF_MEMORY",  "NOT_SUPPORTED",    "NOT_PERMITTED",   "SYSTEM_NOT_READY",
    "MAP_FAILED",     "TOO_MANY_PEERS",   "EXTERNAL_DEVICE", "LAUNCH_OUT_OF_RESOURCES",
    "TIMEOUT",        "OPERATING_SYSTEM", "INVALID_VALUE",   "INVALID_DEVICE",
    "INVALID_HANDLE", "INVALID_CONTEXT",  "NOT_INITIALIZED", "DEINITIALIZED"};

}  // namespace

std::vector<CUresult> documented_results(EntryPoint entry) {
  std::vector<CUresult> codes;
  const auto* const row = std::ranges::find(kRows, entry, &Row::entry);
  if (row == std::end(kRows)) return codes;
  std::string_view rest = row->names;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const auto code = result_from_name("ERROR_" + std::string(rest.substr(0, end)));
    if (code) codes.push_back(*code);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return codes;
}

bool is_documented(EntryPoint entry, CUresult code) {
  const std::vector<CUresult> codes = documented_results(entry);
  return std::ranges::find(codes, code) != codes.end();
}

std::optional<CUresult> usual_failure(EntryPoint entry) {
  const std::vector<CUresult> codes = documented_results(entry);
  for (const std::string_view likely : kLikeliest) {
    const auto code = result_from_name("ERROR_" + std::string(likely));
    if (code && std::ranges::find(codes, *code) != codes.end()) return code;
  }
  return codes.empty() ? std::nullopt : std::optional(codes.front());
}

bool gives_up(EntryPoint entry) {
  const std::string_view name = cuvmm::name(entry);
  constexpr std::string_view kEndings[] = {"Free",      "Release",  "Destroy", "Unmap",
                                           "Unbind",    "Close",    "Unload",  "Unregister",
                                           "CtxDetach", "CtxReset", "TrimTo",  "EndCapture"};
  return std::ranges::any_of(
      kEndings, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

std::string result_list(const std::vector<CUresult>& codes) {
  constexpr std::string_view kPrefix = "CUDA_ERROR_";
  std::string list;
  for (const CUresult code : codes) {
    std::string name = result_name(code);
    if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
    list += (list.empty() ? "" : ", ") + name;
  }
  return list;
}

}  // namespace cuvmm
