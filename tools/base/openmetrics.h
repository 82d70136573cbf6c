// SPDX-License-Identifier: Apache-2.0
// Writes gauges as OpenMetrics text, which the older text format of Prometheus has as well: its
// parser in node_exporter knows neither "stateset" nor "info".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cuvmm::tools {

class Metrics {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  /// Begins a family; sample() adds to it. `name` ends with its unit; `help` is one line.
  void gauge(std::string_view name, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text_.append(name).append(" gauge\n");
  }
  void sample(Labels labels, std::uint64_t value) { sample(labels, std::to_string(value)); }
  void sample(Labels labels, const std::string& value) {
    text_ += name_;
    char before = '{';
    for (const auto& [name, text] : labels) {
      text_ += before;
      text_.append(name).append("=\"");
      add_escaped(text);
      text_ += '"';
      before = ',';
    }
    if (labels.size() != 0) text_ += '}';
    text_.append(" ").append(value).append("\n");
  }
  std::string text() const { return text_ + "# EOF\n"; }

 private:
  void add_escaped(std::string_view text) {
    for (const char c : text) {
      if (c == '\\' || c == '"') text_ += '\\';
      if (c == '\n') {
        text_ += "\\n";
      } else {
        text_ += static_cast<unsigned char>(c) < ' ' ? '?' : c;
      }
    }
  }
  std::string name_, text_;
};

}  // namespace cuvmm::tools
