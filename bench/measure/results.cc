// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/results.h"

namespace cuvmm::bench {

namespace {
// Escapes quotes and backslashes. Nothing else needs it, because the values are names, numbers and
// paths.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}
}  // namespace

bool Results::write(const std::string& path) const {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return false;
  std::fputs("{\n  \"context\": {", file);
  const char* comma = "";
  for (const auto& [key, value] : context_) {
    std::fprintf(file, "%s\n    %s: %s", comma, quoted(key).c_str(), quoted(value).c_str());
    comma = ",";
  }
  std::fputs("\n  },\n  \"benchmarks\": [", file);
  comma = "";
  for (const Result& r : results_) {
    std::fprintf(file,
                 "%s\n    {\"name\": %s, \"run_type\": \"iteration\", \"iterations\": %llu, "
                 "\"real_time\": %.3f, \"cpu_time\": %.3f, \"time_unit\": %s, \"p99\": %.3f}",
                 comma, quoted(r.name).c_str(), static_cast<unsigned long long>(r.samples),
                 r.median, r.median, quoted(r.unit).c_str(), r.p99);
    comma = ",";
  }
  std::fputs("\n  ]\n}\n", file);
  return std::fclose(file) == 0;
}

}  // namespace cuvmm::bench
