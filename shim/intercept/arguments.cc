// SPDX-License-Identifier: Apache-2.0
#include "shim/intercept/arguments.h"

#include <cstdio>

namespace cuvmm::shim {

namespace {

class ReportNames : public ValueNames {
 public:
  std::string text(ParameterKind kind, std::uint64_t value) const override {
    switch (kind) {
      case ParameterKind::kSize:
      case ParameterKind::kOffset:
      case ParameterKind::kAlignment:
      case ParameterKind::kPitch:
        return size_text(value);
      case ParameterKind::kAddress:
      case ParameterKind::kVoidAddress:
      case ParameterKind::kHandle:
      case ParameterKind::kFlags:
      case ParameterKind::kContext:
      case ParameterKind::kStream:
      case ParameterKind::kArray:
      case ParameterKind::kObject:
        return value == 0 ? "0" : hex_text(value);
      default:
        return {};
    }
  }
};

}  // namespace

std::string hex_text(std::uint64_t value) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string size_text(std::uint64_t bytes) {
  // What no memory has: a negative number, or garbage.
  if (static_cast<std::int64_t>(bytes) < 0) return hex_text(bytes);
  constexpr const char* kUnits[] = {"", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kUnits[unit];
}

std::vector<ArgumentText> describe_arguments(const Call& call) {
  static const ReportNames kNames;
  return argument_texts(call, &kNames);
}

}  // namespace cuvmm::shim
