// SPDX-License-Identifier: Apache-2.0
#include "shim/cuvmm_api/leaks_since.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "api/words.h"
#include "rulebook/check/check_support.h"
#include "rulebook/leaks/memory_left.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForMarks{1000};

bool exported_still_open(const Export& exported) {
  return Process::get().session().still_exported(exported);
}

Violation still_there(Rule rule, std::string message, ObjectRef object) {
  return {rule, true, std::move(message), {object}};
}

// An object in use is no leak at the end of a process; at the end of a test it may be one.
Violations in_use(const Model& model) {
  Violations all;
  for (const auto& [handle, a] : model.allocations()) {
    if (leaks(model, a, {})) continue;  // the program has given it up
    const Rule rule = a.imported    ? Rule::kImportLeak
                      : a.multicast ? Rule::kMcCreateLeak
                                    : Rule::kCreateLeak;
    const std::string size = a.size ? size_text(a.size) : "memory of unknown size";
    all.push_back(still_there(rule,
                              size + " of handle " + hex_text(handle) + " is still there: it has " +
                                  count_text(a.references, "reference") + " and " +
                                  count_text(a.mappings, "mapping"),
                              cuvmm::detail::ref(a)));
  }
  for (const auto& [base, r] : model.reservations()) {
    all.push_back(still_there(
        Rule::kReserveLeak,
        "the reservation of " + size_text(r.size) + " at " + hex_text(base) + " is still there",
        {ObjectRef::Kind::kReservation, base, r.size, r.made, {}}));
  }
  all.append(memory_left(model));
  return all;
}

}  // namespace

std::optional<Violations> leaks_since(Process& process, const Labels::Moment& since, bool alive,
                                      bool with_kept) {
  Session* const session = process.session_if_open();
  if (!session) return Violations();
  std::optional<Violations> found = session->given_up(kPatienceForMarks, &exported_still_open);
  if (!found) return found;
  if (alive) {
    const auto used = session->with_model_within(kPatienceForMarks, &in_use);
    if (!used) return std::nullopt;
    // For objects that the program has given up, the other list has better messages.
    for (const Violation& v : *used) {
      const auto same = [&](const Violation& other) {
        return !other.objects.empty() && other.objects.front().kind == v.objects.front().kind &&
               other.objects.front().value == v.objects.front().value;
      };
      if (std::none_of(found->begin(), found->end(), same)) found->push_back(v);
    }
  }
  Labels& labels = process.labels();
  found->erase_if([&](const Violation& v) {
    const std::uint64_t made = v.objects.empty() ? 0 : v.objects.front().made.call;
    return made <= since.call || (!with_kept && labels.in_keeping_scope(made, since)) ||
           labels.was_reported(v);
  });
  return found;
}

std::uint64_t tell_leaks_since(Process& process, const Violations& leaks) {
  const std::uint64_t before = process.ledger().totals().leaks;
  for (const Violation& leak : leaks) {
    if (!process.labels().mark_reported(leak)) continue;
    Finding finding;
    finding.violation = leak;
    finding.stack = leak.objects.front().made.stack;
    finding.memory = process.session().memory_of(leak.objects.front());
    process.ledger().take(std::move(finding));
  }
  return process.ledger().totals().leaks - before;
}

}  // namespace cuvmm::shim
