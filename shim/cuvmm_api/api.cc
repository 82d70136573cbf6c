// SPDX-License-Identifier: Apache-2.0
// The functions of include/cuvmm/cuvmm.h. The program calls them at any time except in signal
// handlers; they throw nothing, and preserve errno.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/posix/cancel_off.h"
#include "include/cuvmm/cuvmm.h"
#include "shim/base/own_stack.h"
#include "shim/cuvmm_api/failures.h"
#include "shim/cuvmm_api/fork_point.h"
#include "shim/cuvmm_api/leaks_since.h"
#include "shim/output/glob.h"
#include "shim/output/json.h"
#include "shim/process/process.h"
#include "shim/report/text_report.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim::client {

namespace {

/// Calls `work` with the process's state; returns the result of `work`, or an error.
template <class Work>
long answer(const Work& work) noexcept {
  const int program_errno = errno;
  long result = CUVMM_ERROR_FAILED;
  try {
    const CancelOff no_cancel;
    Process& process = Process::get();
    // A child of vfork shares this memory, so it gets an error.
    if (process.is_current()) result = work(process);
  } catch (...) {
    // Out of memory: the result is an error.
  }
  errno = program_errno;
  return result;
}

std::uint64_t last_call(Process& process) {
  Session* const session = process.session_if_open();
  return session ? session->last_number() : 0;
}

/// The number of rules that a pattern matches, and the last of them.
std::pair<int, Rule> rules_of(const char* pattern) {
  std::pair<int, Rule> found{0, Rule::kCount};
  for (const RuleInfo& rule : rules()) {
    if (glob_matches(pattern, rule.id)) found = {found.first + 1, rule.rule};
  }
  return found;
}

long fill(const std::string& text, char* buffer, std::size_t size) {
  if (buffer && size != 0) {
    const std::size_t fits = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), fits);
    buffer[fits] = '\0';
  }
  return static_cast<long>(text.size());
}

long name_range(const void* address, std::size_t size, const char* name) noexcept {
  if (!address || size == 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    const auto base = reinterpret_cast<std::uintptr_t>(address);
    if (UINT64_MAX - base < size) return CUVMM_ERROR_ARGUMENT;
    return process.labels().names().name_range(base, size, name ? name : "") ? 0L
                                                                             : CUVMM_ERROR_FAILED;
  });
}

long name_handle(unsigned long handle, const char* name) noexcept {
  if (handle == 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    return process.labels().names().name_handle(handle, name ? name : "") ? 0L : CUVMM_ERROR_FAILED;
  });
}

long scope_open(const char* name, unsigned flags) noexcept {
  constexpr unsigned kKnown = CUVMM_SCOPE_KEEPS | CUVMM_SCOPE_QUIET;
  if (!name || !*name || (flags & ~kKnown) != 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    return static_cast<long>(process.labels().open_scope(
        name, flags & CUVMM_SCOPE_KEEPS, flags & CUVMM_SCOPE_QUIET, last_call(process)));
  });
}

long scope_close(long scope) noexcept {
  if (scope <= 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    const bool open =
        process.labels().close_scope(static_cast<std::uint64_t>(scope), last_call(process));
    return open ? 0L : CUVMM_ERROR_TOKEN;
  });
}

long expect(const char* rule, long count) noexcept {
  if (!rule || !*rule || count < 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    if (rules_of(rule).first == 0) return CUVMM_ERROR_RULE;
    return static_cast<long>(process.labels().expect(rule, static_cast<std::uint64_t>(count)));
  });
}

long expect_end(long expectation) noexcept {
  if (expectation <= 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    std::uint64_t missing = 0;
    const bool open =
        process.labels().end_expectation(static_cast<std::uint64_t>(expectation), missing);
    return open ? static_cast<long>(missing) : CUVMM_ERROR_TOKEN;
  });
}

long mark() noexcept {
  return answer([](Process& process) {
    return static_cast<long>(process.labels().mark(last_call(process)));
  });
}

/// Calls `work(process, moment)` for a mark of the program.
template <class Work>
long since(long mark, const Work& work) noexcept {
  if (mark < 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    Labels::Moment moment;
    if (!process.labels().moment(static_cast<std::uint64_t>(mark), moment))
      return CUVMM_ERROR_TOKEN;
    return work(process, moment);
  });
}

long count(long mark, const char* rule) noexcept {
  return since(mark, [&](Process& process, const Labels::Moment& moment) {
    if (!rule) return static_cast<long>(process.ledger().count_since(moment.period, nullptr));
    const auto known = find_rule(rule);
    if (!known) return CUVMM_ERROR_RULE;
    return static_cast<long>(process.ledger().count_since(moment.period, &*known));
  });
}

std::string findings_json(const Ledger& ledger, std::uint64_t period) {
  std::string text = "[";
  for (const Entry* entry = ledger.first(); entry; entry = entry->next.load()) {
    if (!entry->ready() || entry->period.load() < period) continue;
    if (text.size() > 1) text += ",\n";
    text += '{' + entry->json;
    add_number(text, "count", entry->count.load());
    if (const std::uint64_t handled = entry->handled.load()) add_number(text, "handled", handled);
    add_text(text, "text", finding_text(*entry));
    text += '}';
  }
  return text + ']';
}

long findings(long mark, char* buffer, std::size_t size) noexcept {
  if (!buffer && size != 0) return CUVMM_ERROR_ARGUMENT;
  return since(mark, [&](Process& process, const Labels::Moment& moment) {
    // Waits until another thread has described its finding, because the stack is free then; after
    // the limit the answer is given without it.
    (void)findings_stack().run([] {}, kDescribingPatience);
    return fill(findings_json(process.ledger(), moment.period), buffer, size);
  });
}

long leaks(long mark, unsigned flags) noexcept {
  if ((flags & ~(CUVMM_LEAKS_ALIVE | CUVMM_LEAKS_PEEK | CUVMM_LEAKS_KEPT)) != 0)
    return CUVMM_ERROR_ARGUMENT;
  return since(mark, [&](Process& process, const Labels::Moment& moment) {
    const std::optional<Violations> found = leaks_since(
        process, moment, (flags & CUVMM_LEAKS_ALIVE) != 0, (flags & CUVMM_LEAKS_KEPT) != 0);
    if (!found) return CUVMM_ERROR_FAILED;
    if ((flags & CUVMM_LEAKS_PEEK) != 0) {
      std::uint64_t all = 0;
      for (const Violation& leak : *found) all += leak.count;
      return static_cast<long>(all);
    }
    return static_cast<long>(tell_leaks_since(process, *found));
  });
}

long reset() noexcept {
  return answer([](Process& process) {
    process.labels().reset(last_call(process));
    return 0L;
  });
}

long about(char* buffer, std::size_t size) noexcept {
  if (!buffer && size != 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process& process) {
    const RealDriver& driver = process.driver();
    std::string text = "{";
    add_number(text, "api", CUVMM_API_VERSION);
    add_text(text, "driver", driver.path);
    add_key(text, "emulated");
    text += driver.emulated ? "true" : "false";
    add_text(text, "scope", process.labels().scope());
    add_number(text, "last_call", last_call(process));
    return fill(text + '}', buffer, size);
  });
}

long fail(const char* spec) noexcept {
  return answer([&](Process&) { return begin_failures(spec); });
}

long fail_end(long token) noexcept {
  return answer([&](Process&) { return end_failures(token); });
}

long fail_report(long token, char* buffer, std::size_t size) noexcept {
  if (!buffer && size != 0) return CUVMM_ERROR_ARGUMENT;
  return answer([&](Process&) {
    const auto text = report_of_failures(token);
    return text ? fill(*text, buffer, size) : CUVMM_ERROR_TOKEN;
  });
}

long fork_point(unsigned flags) noexcept {
  if ((flags & ~CUVMM_FORK_THREADS) != 0) return CUVMM_ERROR_ARGUMENT;
  return answer(
      [&](Process&) { return at_fork_point((flags & CUVMM_FORK_THREADS) != 0) ? 1L : 0L; });
}

constexpr cuvmm_api kApi = {CUVMM_API_VERSION,
                            sizeof(cuvmm_api),
                            &name_range,
                            &name_handle,
                            &scope_open,
                            &scope_close,
                            &expect,
                            &expect_end,
                            &mark,
                            &count,
                            &findings,
                            &leaks,
                            &reset,
                            &about,
                            &fail,
                            &fail_end,
                            &fail_report,
                            &fork_point};

}  // namespace

}  // namespace cuvmm::shim::client

/// Returns the functions for programs (include/cuvmm/cuvmm.h), which find this by dlsym; null if
/// `version` is another version.
extern "C" __attribute__((visibility("default"))) const cuvmm_api* cuvmmGetApi(unsigned version) {
  return version == CUVMM_API_VERSION ? &cuvmm::shim::client::kApi : nullptr;
}
