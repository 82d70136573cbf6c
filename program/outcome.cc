// SPDX-License-Identifier: Apache-2.0
#include "program/outcome.h"

#include <sys/wait.h>

#include <csignal>

#include "api/driver/driver.h"

namespace cuvmm::program {

namespace {

constexpr std::string_view kSignal = "signal:";
constexpr std::string_view kExit = "exit:";
constexpr std::string_view kNotRun = "not-run: ";

// "SIGSEGV". Not by sigabbrev_np(), which the oldest supported glibc lacks.
std::string signal_name(int signal) {
  constexpr struct {
    int number;
    const char* name;
  } kNames[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGABRT, "SIGABRT"},
                {SIGILL, "SIGILL"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
                {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGALRM, "SIGALRM"}};
  for (const auto& row : kNames) {
    if (row.number == signal) return row.name;
  }
  return std::to_string(signal);
}

}  // namespace

std::string outcome_text(const Outcome& outcome) {
  switch (outcome.status) {
    case Outcome::Status::kNotRun:
      return std::string(kNotRun) + outcome.detail;
    case Outcome::Status::kSignal:
      return std::string(kSignal) + outcome.detail;
    case Outcome::Status::kExited:
      return std::string(kExit) + outcome.detail;
    case Outcome::Status::kTimeout:
      return "timeout";
    case Outcome::Status::kDone:
      break;
  }
  const std::string name = result_name(outcome.result);
  return outcome.value.empty() ? name : name + " =" + outcome.value;
}

Outcome parse_outcome(const std::string& text) {
  Outcome outcome;
  const auto rest = [&](std::string_view prefix) { return text.substr(prefix.size()); };
  if (text == "timeout") {
    outcome.status = Outcome::Status::kTimeout;
  } else if (text.starts_with(kSignal)) {
    outcome.status = Outcome::Status::kSignal;
    outcome.detail = rest(kSignal);
  } else if (text.starts_with(kExit)) {
    outcome.status = Outcome::Status::kExited;
    outcome.detail = rest(kExit);
  } else if (text.starts_with(kNotRun)) {
    outcome.detail = rest(kNotRun);
  } else {
    const std::size_t space = text.find(" =");
    const auto result = result_from_name(text.substr(0, space));
    if (!result) {
      outcome.detail = text;
      return outcome;
    }
    outcome.status = Outcome::Status::kDone;
    outcome.result = *result;
    if (space != std::string::npos) outcome.value = text.substr(space + 2);
  }
  return outcome;
}

Outcome outcome_of_end(int wait_status) {
  Outcome outcome;
  if (WIFSIGNALED(wait_status)) {
    outcome.status = Outcome::Status::kSignal;
    outcome.detail = signal_name(WTERMSIG(wait_status));
  } else {
    outcome.status = Outcome::Status::kExited;
    outcome.detail = std::to_string(WEXITSTATUS(wait_status));
  }
  return outcome;
}

}  // namespace cuvmm::program
