// SPDX-License-Identifier: Apache-2.0
// The recording as JSON.
#include "conformance/record/recording.h"

#include <nlohmann/json.hpp>

namespace cuvmm::conformance {

std::string format_recording(const Recording& recording) {
  using Json = nlohmann::ordered_json;
  Json head = {{"schema", 1},
               {"driver", recording.driver},
               {"gpu", recording.gpu},
               {"driver_version", recording.driver_version},
               {"cuda_version", recording.cuda_version},
               {"devices", recording.devices},
               {"date", recording.date},
               {"skipped", recording.skipped}};
  if (!recording.processes.empty()) head["processes"] = recording.processes;
  // One line per case, so that a change of one case changes one line.
  std::string text = head.dump();
  text.pop_back();
  text += ",\n\"cases\": {";
  const char* separator = "\n";
  for (const auto& [name, outcomes] : recording.cases) {
    text += separator + Json(name).dump() + ": " + Json(outcomes).dump();
    separator = ",\n";
  }
  return text + "\n}}\n";
}

std::optional<Recording> parse_recording(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("schema", 0) != 1) return std::nullopt;
  try {
    Recording recording;
    recording.driver = json.at("driver");
    recording.gpu = json.at("gpu");
    recording.driver_version = json.at("driver_version");
    recording.cuda_version = json.at("cuda_version");
    recording.devices = json.at("devices");
    recording.date = json.at("date");
    recording.cases = json.at("cases");
    recording.skipped = json.at("skipped");
    if (json.contains("processes")) recording.processes = json.at("processes");
    return recording;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace cuvmm::conformance
