// SPDX-License-Identifier: Apache-2.0
// Checks as text for people and as JSON for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/doctor/check.h"

namespace cuvmm::doctor {

/// Lines have at most 80 columns; only a longer word exceeds them. `needed`: ids of the checks that
/// must work; may be empty.
std::string doctor_text(std::span<const Check> checks, std::span<const std::string> needed);

/// One check in the lines of doctor_text(). `lead`: at most 8 characters that stand in front of it.
std::string check_text(const Check& check, std::string_view lead);

/// {"checks":[{"id","status","detail","fix","source"}]}, as docs/doctor.md has it.
std::string doctor_json(std::span<const Check> checks);

}  // namespace cuvmm::doctor
