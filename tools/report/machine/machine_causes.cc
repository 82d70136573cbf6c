// SPDX-License-Identifier: Apache-2.0
#include "tools/report/machine/machine_causes.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/driver/driver.h"
#include "tools/doctor/driver/causes.h"

namespace cuvmm::tools {

namespace {

constexpr std::chrono::seconds kLimit{5};

// Codes whose cause may be the machine, the container or the user as well as the call.
constexpr int kCodes[] = {CUDA_ERROR_OUT_OF_MEMORY,    CUDA_ERROR_DEVICE_UNAVAILABLE,
                          CUDA_ERROR_INVALID_DEVICE,   CUDA_ERROR_OPERATING_SYSTEM,
                          CUDA_ERROR_INVALID_HANDLE,   CUDA_ERROR_ILLEGAL_STATE,
                          CUDA_ERROR_NOT_PERMITTED,    CUDA_ERROR_NOT_SUPPORTED,
                          CUDA_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_UNKNOWN};

struct Suspect {
  Json* entry;
  std::string call;
  CUresult code;
  int handle_type;
};

int handle_type_of(const Json& arguments) {
  const std::string text = arguments.dump();
  if (text.find("fabric") != std::string::npos) return doctor::kFabric;
  return text.find("posix_fd") != std::string::npos ? doctor::kDescriptor : 0;
}

std::optional<Suspect> suspect(Json& entry) {
  if (entry.value("handled", std::uint64_t{0}) >= entry.value("count", std::uint64_t{1})) return {};
  if (entry.value("of_earlier_work", false) || entry.value("unchecked", false)) return {};
  const std::string result = entry.value("result", "");
  const auto* code = std::ranges::find_if(
      kCodes, [&](int each) { return result_name(static_cast<CUresult>(each)) == result; });
  if (code == std::end(kCodes)) return {};
  const Json& facts = entry.value("facts", Json::object());
  // The device's memory was used up, which explains the code.
  if (facts.contains("held")) return {};
  return Suspect{&entry, entry.value("call", ""), static_cast<CUresult>(*code),
                 handle_type_of(entry.value("arguments", Json::object()))};
}

std::vector<Suspect> suspects(Json& report) {
  std::vector<Suspect> found;
  for (Json& refusal : report["refusals"]) {
    if (auto one = suspect(refusal)) found.push_back(*one);
  }
  for (Json& finding : report["findings"]) {
    if (finding["kind"] != "advice") continue;
    if (auto one = suspect(finding)) found.push_back(*one);
  }
  return found;
}

}  // namespace

std::vector<std::string> explain_by_machine(Json& report, const std::string& driver) {
  doctor::DoctorOptions machine;
  machine.driver = doctor::chosen_driver(driver);
  machine.nvml = doctor::nvml_beside(machine.driver);
  machine.limit = kLimit;
  return explain_by_machine(report, machine);
}

std::vector<std::string> explain_by_machine(Json& report, const doctor::DoctorOptions& machine) {
  const std::vector<Suspect> all = suspects(report);
  if (all.empty()) return {};
  const std::vector<doctor::Check> checks = doctor::diagnose(machine);
  std::vector<std::string> sentences;
  for (const Suspect& one : all) {
    const auto cause = doctor::known_cause(one.call, one.code, one.handle_type, checks);
    if (!cause) continue;
    (*one.entry)["machine"] = {{"check", cause->check},
                               {"because", cause->because},
                               {"fix", cause->fix},
                               {"source", cause->source}};
    const std::string sentence =
        fmt::format("{} answered {} because of this machine: {} (see `cuvmm doctor`, {}). Fix: {}",
                    one.call, result_name(one.code), cause->because, cause->check, cause->fix);
    if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(sentence);
  }
  return sentences;
}

namespace {
// The answers that each outage of the emulator gives (emulator/base/outage.h), and the row of
// likely_cause() for it; none where a finding, or the end of the rank, says the cause.
struct Outage {
  const char* name;
  const char* call;  ///< or its beginning
  CUresult code;
  const char* row;
  int handle_type;
};
constexpr Outage kOutages[] = {
    {"no-channel", "cuMemCreate", CUDA_ERROR_NOT_PERMITTED, "cuMemCreate", doctor::kFabric},
    {"domains", "cuMemImportFromShareableHandle", CUDA_ERROR_INVALID_HANDLE,
     "cuMemImportFromShareableHandle", doctor::kFabric},
    {"imex-daemon", "cuMemImportFromShareableHandle", CUDA_ERROR_INVALID_HANDLE,
     "cuMemImportFromShareableHandle", doctor::kFabric},
    {"fabric-manager", "cuInit", CUDA_ERROR_SYSTEM_NOT_READY, "cuInit", 0},
    {"fabric-lost", "cuMulticast", CUDA_ERROR_ILLEGAL_STATE, "cuMulticastAddDevice", 0},
    {"multicast-groups", "cuMulticastBind", CUDA_ERROR_OUT_OF_MEMORY, "cuMulticastBindMem", 0},
    {"no-fabric", "cuM", CUDA_ERROR_NOT_SUPPORTED, "cuMemCreate", doctor::kFabric},
    {.name = "large-granularity",
     .call = "",
     .code = CUDA_SUCCESS,
     .row = nullptr,
     .handle_type = 0},
    {.name = "rank-killed", .call = "", .code = CUDA_SUCCESS, .row = nullptr, .handle_type = 0}};
}  // namespace

std::vector<std::string> outage_names() {
  std::vector<std::string> names;
  for (const Outage& each : kOutages) names.emplace_back(each.name);
  return names;
}

std::vector<std::string> explain_by_outage(Json& report, const std::string& outage) {
  const auto found =
      std::ranges::find_if(kOutages, [&](const Outage& each) { return outage == each.name; });
  if (found == std::end(kOutages) || !found->row) return {};
  const auto cause = doctor::likely_cause(found->row, found->code, found->handle_type);
  if (!cause) return {};
  std::vector<std::string> calls;
  // The report has no refusal of cuInit, which the shim does not check.
  if (found->row == std::string_view("cuInit")) calls.emplace_back("cuInit");
  for (const Suspect& one : suspects(report)) {
    const bool fits = one.code == found->code && one.call.starts_with(found->call);
    if (fits && std::ranges::find(calls, one.call) == calls.end()) calls.push_back(one.call);
  }
  std::vector<std::string> sentences;
  for (const std::string& call : calls) {
    sentences.push_back(fmt::format(
        "{} answered {} because of --outage {}. On a machine: {}. "
        "Fix: {} ({})",
        call, result_name(found->code), outage, cause->because, cause->fix, cause->source));
  }
  return sentences;
}

}  // namespace cuvmm::tools
