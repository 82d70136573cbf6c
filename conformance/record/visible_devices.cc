// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/visible_devices.h"

#include <stdlib.h>

#include <sstream>

namespace cuvmm::conformance {

namespace {

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
constexpr const char* kEmulated = "CUVMM_DEVICES";

std::optional<std::string> variable(const char* name) {
  const char* value = getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

void set(const char* name, const std::optional<std::string>& value) {
  if (value) {
    setenv(name, value->c_str(), 1);
  } else {
    unsetenv(name);
  }
}

}  // namespace

std::string first_devices(const char* visible, int count) {
  std::istringstream entries(visible ? visible : "");
  std::string first;
  for (int i = 0; i < count; ++i) {
    std::string entry = std::to_string(i);
    if (visible && !std::getline(entries, entry, ',')) break;
    first += (i == 0 ? "" : ",") + entry;
  }
  return first;
}

VisibleDevices::VisibleDevices(int count)
    : visible_before_(variable(kVisible)), emulated_before_(variable(kEmulated)) {
  set(kVisible, first_devices(getenv(kVisible), count));
  set(kEmulated, std::to_string(count));
}

VisibleDevices::~VisibleDevices() {
  set(kVisible, visible_before_);
  set(kEmulated, emulated_before_);
}

}  // namespace cuvmm::conformance
