// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/mutation.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "api/driver/driver.h"

namespace cuvmm::emulator {

namespace {

// "watch FILE": appends a line for each rule that decides in this process.
void note_asked(Rule rule) {
  static std::array<std::atomic<pid_t>, static_cast<std::size_t>(Rule::kCount)> seen_in;
  const pid_t self = getpid();
  if (seen_in[static_cast<std::size_t>(rule)].exchange(self) == self) return;
  // A line that is missing would make the suite skip a mistake that matters; the process aborts
  // instead.
  const int file = open(mutation().file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) std::abort();
  const std::string line = std::to_string(self) + " " + info(rule).id + "\n";
  if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  close(file);
}

}  // namespace

bool Mutation::hides(const Violations& violations) const {
  return std::any_of(violations.begin(), violations.end(),
                     [this](const Violation& v) { return v.rule == rule; });
}

void Mutation::apply(Profile& profile) const {
  if (kind == Kind::kWatch) profile.on_verdict = note_asked;
  if (!of_a_rule()) return;
  const Verdict mistaken = kind == Kind::kRemove ? Verdict{Verdict::Kind::kAccepts, CUDA_SUCCESS}
                                                 : Verdict{Verdict::Kind::kCode, code};
  profile.verdicts[static_cast<std::size_t>(rule)] = mistaken;
  for (auto& [where, verdict] : profile.entry_verdicts) {
    if (where.second == rule) verdict = mistaken;
  }
}

Mutation parse_mutation(std::string_view text) {
  Mutation mutation;
  std::istringstream stream{std::string(text)};
  std::string verb, id, code, more;
  if (!(stream >> verb)) return mutation;
  stream >> id >> code >> more;
  const auto fail = [&](const std::string& why) {
    mutation.error = "CUVMM_MUTATION=" + std::string(text) + ": " + why;
    return mutation;
  };
  for (const auto& [name, kind] : {std::pair{"import-copies", Mutation::Kind::kImportCopies},
                                   std::pair{"ipc-copies", Mutation::Kind::kIpcCopies}}) {
    if (verb != "slip" || id != name || !code.empty()) continue;
    mutation.kind = kind;
    return mutation;
  }
  for (const std::string_view order : kOrders) {
    if (verb != "forget" || id != order || !code.empty()) continue;
    mutation.kind = Mutation::Kind::kForget;
    mutation.order = order;
    return mutation;
  }
  if (verb == "watch" && !id.empty() && code.empty()) {
    mutation.kind = Mutation::Kind::kWatch;
    mutation.file = id;
    return mutation;
  }
  const bool remove = verb == "remove";
  if ((!remove && verb != "code") || id.empty() || remove != code.empty() || !more.empty()) {
    return fail(
        "expected 'remove RULE-ID', 'code RULE-ID CUDA_ERROR_...', 'slip import-copies', 'slip "
        "ipc-copies', 'forget ORDER' or 'watch FILE'");
  }
  const auto rule = find_rule(id);
  if (!rule) return fail("no rule '" + id + "'; `cuvmm rules` lists them");
  if (!remove) {
    const auto result = result_from_name(code);
    if (!result || *result == CUDA_SUCCESS) {
      return fail("expected the name of an error such as CUDA_ERROR_UNKNOWN, found '" + code + "'");
    }
    mutation.code = *result;
  }
  mutation.kind = remove ? Mutation::Kind::kRemove : Mutation::Kind::kCode;
  mutation.rule = *rule;
  return mutation;
}

const Mutation& mutation() {
  // Never destroyed: calls may come from the program's destructors.
  static const Mutation* const from_environment = [] {
    const char* text = secure_getenv("CUVMM_MUTATION");
    return new Mutation(parse_mutation(text ? text : ""));
  }();
  return *from_environment;
}

}  // namespace cuvmm::emulator
