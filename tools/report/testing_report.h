// SPDX-License-Identifier: Apache-2.0
// Reports of processes, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tools/base/json.h"
#include "tools/report/process_report.h"

namespace cuvmm::tools {

inline Json finding(const char* rule, const char* kind, std::uint64_t count) {
  return {{"rule", rule},   {"kind", kind},  {"call", "cuMemMap"}, {"arguments", Json::object()},
          {"message", "m"}, {"count", count}};
}

inline Json report(Json findings = Json::array()) {
  return {{"schema", 1},
          {"driver", {{"path", "/lib/libcuda.so.1"}, {"version", 13000}, {"emulated", true}}},
          {"calls", {{"cuMemMap", 3u}, {"cuMemUnmap", 1u}}},
          {"unchecked", {"cuMemNew v99000"}},
          {"findings", std::move(findings)},
          {"summary", {{"error", 0u}, {"undefined", 0u}, {"leak", 0u}}},
          {"alive", {{"allocations", 1u}, {"bytes", 4096u}, {"reservations", 2u}}}};
}

inline ProcessReport parsed(const Json& value, const std::string& name = "/d/7-a.json") {
  return parse_process_report(value.dump(), name);
}

}  // namespace cuvmm::tools
