// SPDX-License-Identifier: Apache-2.0
#include "shim/findings/arguments.h"

#include "api/words.h"

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
        return value == 0 ? "0" : size_text(value);
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

std::vector<ArgumentText> describe_arguments(const Call& call) {
  static const ReportNames kNames;
  return argument_texts(call, &kNames);
}

}  // namespace cuvmm::shim
