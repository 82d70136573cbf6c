// SPDX-License-Identifier: Apache-2.0
// Functions that several checks of external memory and of external semaphores use. Internal to
// rulebook/.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>

#include "rulebook/check/check_support.h"

namespace cuvmm::detail {

/// The handle of a driver object as a number.
template <class Object>
std::uint64_t object_number(Object object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

/// The rules that an external object can break.
struct ObjectRules {
  Rule nonnull, valid, alive;
};

/// The table's entry for `value`. Null if nothing is known about it; then it adds a violation,
/// which is certain if the value is null or its object has ended.
template <class Table>
const typename Table::mapped_type* check_external_object(Collector& out, const Model& model,
                                                         const Table& table, std::uint64_t value,
                                                         ObjectRef::Kind kind, const char* what,
                                                         const ObjectRules& rules) {
  const std::string text = what;
  if (value == 0) {
    out.add(rules.nonnull, "the " + text + " is NULL");
    return nullptr;
  }
  if (const auto found = table.find(value); found != table.end()) return &found->second;
  if (const auto ended_object = model.tombstones().find(kind, value)) {
    out.add(rules.alive, text + " " + hex_text(value) + " was destroyed")
        .objects.push_back(*ended_object);
  } else {
    out.add(rules.valid, text + " " + hex_text(value) + " was not imported by any call seen here",
            model.platform().complete);
  }
  return nullptr;
}

/// Checks that all words of a reserved array are 0.
template <class Array>
void check_reserved(Collector& out, const Array& reserved, Rule rule) {
  const auto set = std::find_if(std::begin(reserved), std::end(reserved),
                                [](unsigned word) { return word != 0; });
  if (set == std::end(reserved)) return;
  out.add(rule,
          "reserved[" + std::to_string(set - std::begin(reserved)) + "] is " + hex_text(*set));
}

}  // namespace cuvmm::detail
