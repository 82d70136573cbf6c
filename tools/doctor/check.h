// SPDX-License-Identifier: Apache-2.0
// What the doctor says of one thing: it works, it does not, or nobody can tell.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::doctor {

enum class Status { kWorks, kDoesNot, kUnknown };

/// "works", "does not", "unknown".
std::string_view status_text(Status status);

struct Check {
  std::string id;  ///< of check_table()
  Status status = Status::kUnknown;
  std::string detail;  ///< what was seen; where it does not work, why
  std::string fix;     ///< what would change it; "" where it works
  std::string source;  ///< where the requirement stands, or who met it
};

Check works(std::string id, std::string detail, std::string source);
Check does_not(std::string id, std::string detail, std::string fix, std::string source);
Check unknown(std::string id, std::string detail, std::string fix, std::string source);

/// One row of docs/doctor.md. The order of the table is the order of the output.
struct CheckInfo {
  const char* id;
  const char* section;
  const char* what;  ///< what works when it works
};
std::span<const CheckInfo> check_table();

/// Null where there is none of that id.
const Check* find(std::span<const Check> checks, std::string_view id);

/// In the order of check_table().
void put_in_order(std::vector<Check>& checks);

/// Checks of `needed` that do not work, or that nobody can tell.
std::vector<const Check*> unmet(std::span<const Check> checks, std::span<const std::string> needed);

}  // namespace cuvmm::doctor
