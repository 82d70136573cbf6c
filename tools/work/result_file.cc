// SPDX-License-Identifier: Apache-2.0
#include "tools/work/result_file.h"
#include "api/fnv1a.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace cuvmm::tools {

namespace {

constexpr int kSchema = 1;

// "line 3, column 7": the place of a byte. `byte` counts from 0.
std::string place(const std::string& text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const auto begin = text.begin(), here = begin + static_cast<std::ptrdiff_t>(byte);
  const auto line = 1 + std::count(begin, here, '\n');
  const std::size_t start = byte == 0 ? std::string::npos : text.rfind('\n', byte - 1);
  return fmt::format("line {}, column {}", line,
                     start == std::string::npos ? byte + 1 : byte - start);
}

struct Malformed {
  std::string message;
};

ShardResult read(const Json& json) {
  ShardResult result;
  if (json.at("schema").get<int>() != kSchema) throw Malformed{"expected \"schema\": 1"};
  const std::string label = json.at("job");
  const auto job = Job::of_label(label);
  if (!job) throw Malformed{"expected \"job\" to be a job of `cuvmm work`, not '" + label + "'"};
  result.job = *job;
  const auto shard = parse_shard(json.at("shard").get<std::string>());
  if (!shard) throw Malformed{"expected \"shard\" to be INDEX/COUNT"};
  result.shard = *shard;
  result.stamp = parse_stamp(json.at("stamp"));
  for (const Json& each : json.at("results")) result.results.push_back(parse_unit(each));
  return result;
}

}  // namespace

std::string Stamp::group() const {
  return fmt::format("{}{} on {} x {}, CUDA {}", emulated ? "emulator of " : "", driver, devices,
                     gpu, cuda);
}

Json result_json(const UnitResult& result) {
  Json json = {{"unit", result.unit}, {"status", result.status}};
  if (!result.finding.empty()) json["finding"] = result.finding;
  if (!result.answers.empty()) json["answers"] = result.answers;
  if (!result.program.empty()) json["program"] = result.program;
  if (!result.corpus.empty()) json["corpus"] = result.corpus;
  return json;
}

UnitResult parse_unit(const Json& json) {
  return {json.at("unit"),           json.at("status"),
          json.value("finding", ""), json.value("answers", std::vector<std::string>()),
          json.value("program", ""), json.value("corpus", std::vector<std::string>())};
}

Json stamp_json(const Stamp& stamp) {
  return {{"cuvmm", stamp.cuvmm}, {"driver", stamp.driver},   {"cuda", stamp.cuda},
          {"gpu", stamp.gpu},     {"devices", stamp.devices}, {"emulated", stamp.emulated},
          {"image", stamp.image}, {"node", stamp.node},       {"lacks", stamp.lacks}};
}

Stamp parse_stamp(const Json& json) {
  return {json.at("cuvmm"), json.at("driver"),  json.at("cuda"),
          json.at("gpu"),   json.at("devices"), json.at("emulated"),
          json.at("image"), json.at("node"),    json.at("lacks")};
}

std::string format_result(const ShardResult& result) {
  constexpr auto kReplace = Json::error_handler_t::replace;
  const Json head = {{"schema", kSchema},
                     {"tool", "cuvmm work"},
                     {"job", result.job.label()},
                     {"shard", fmt::format("{}/{}", result.shard.index, result.shard.count)},
                     {"stamp", stamp_json(result.stamp)}};
  std::string text = head.dump(-1, ' ', false, kReplace);
  text.pop_back();
  text += ",\n\"results\": [";
  const char* separator = "\n";
  for (const UnitResult& each : result.results) {
    text += separator + result_json(each).dump(-1, ' ', false, kReplace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

std::string content_hash(std::string_view text) { return fmt::format("{:016x}", fnv1a(text)); }

std::string shard_name(const Job& job, const Shard& shard) {
  const std::size_t digits = std::max<std::size_t>(4, std::to_string(shard.count).size());
  return fmt::format("{}-{:0{}}-of-{:0{}}", job.label(), shard.index, digits, shard.count, digits);
}

std::string result_name(const ShardResult& result, std::string_view text) {
  return shard_name(result.job, result.shard) + "-" + content_hash(text) + ".json";
}

std::string shard_folder(const Job& job, const Shard& shard) {
  constexpr long kInOneFolder = 100;
  return fmt::format("{}/{:06}", job.label(), (shard.index - 1) / kInOneFolder);
}

std::vector<std::string> result_paths(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    if (each.path().extension() == ".json" && each.is_regular_file())
      paths.push_back(each.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::optional<double> measured_ns(const UnitResult& result) {
  if (result.status != "measured" || result.answers.size() != 1) return std::nullopt;
  const std::string& text = result.answers[0];
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

ReadResult parse_result(const std::string& text, const std::string& name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return {{}, place(text, error.byte == 0 ? 0 : error.byte - 1) + ": expected JSON"};
  }
  try {
    ShardResult result = read(json);
    const std::string wanted = result_name(result, text);
    if (name != wanted) {
      return {{},
              "its name is not that of its content, which is " + wanted +
                  ": it was changed, or is not whole"};
    }
    return {std::move(result), ""};
  } catch (const Json::exception& error) {
    return {{}, std::string("expected the members of a result: ") + error.what()};
  } catch (const Malformed& malformed) {
    return {{}, malformed.message};
  }
}

}  // namespace cuvmm::tools
