// SPDX-License-Identifier: Apache-2.0
// Reads the specifications of `cuvmm fail` and of shim/fail.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "api/documented_results/documented_results.h"
#include "api/driver/driver.h"
#include "injected_failures/spec.h"

namespace cuvmm::injected_failures {

namespace {

constexpr const char* kKeys = "in, at, site, size, device, chance or seed";

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Spec read() {
    Spec spec;
    do {
      Clause clause;
      read_clause(clause);
      if (!error_) spec.clauses.push_back(std::move(clause));
    } while (!error_ && take(','));
    if (!error_ && at_ < text_.size()) fail(at_, "expected ',' and another call, or the end");
    if (error_) spec.clauses.clear();
    spec.error = error_;
    return spec;
  }

 private:
  void fail(std::size_t at, std::string message, std::string_view word = {}) {
    if (!error_) error_ = SpecError{at + 1, std::move(message), std::string(word)};
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view until(std::string_view stops) {
    const std::size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  void read_clause(Clause& clause) {
    const std::size_t start = at_;
    clause.function = until("[@=!,");
    if (clause.function.empty()) {
      return fail(start, "expected a function such as cuMemCreate, or a pattern such as cuMem*");
    }
    bool known = false;
    for (int i = 0; i < static_cast<int>(EntryPoint::kCount) && !known; ++i) {
      known = clause.names(static_cast<EntryPoint>(i));
    }
    if (!known) {
      const bool pattern = clause.function.find('*') != std::string::npos;
      return fail(start,
                  pattern ? "no function that cuvmm intercepts has such a name: " + clause.function
                          : "cuvmm intercepts no function " + clause.function,
                  pattern ? "" : clause.function);
    }
    if (take('[')) read_conditions(clause);
    if (!error_ && take('@')) read_counts(clause);
    if (!error_ && take('=')) read_code(clause, start);
    if (!error_) check_code(clause, start);
  }

  void read_conditions(Clause& clause) {
    do {
      const std::size_t start = at_;
      const std::string_view key = until("=,]");
      if (!take('=')) {
        return fail(at_, "expected '=' and a value after '" + std::string(key) + "'");
      }
      const std::size_t value_at = at_;
      const std::string_view value = until(",]");
      read_condition(clause, key, value, start, value_at);
    } while (!error_ && take(','));
    if (!error_ && !take(']')) fail(at_, "expected ',' or ']'");
  }

  void read_condition(Clause& clause, std::string_view key, std::string_view value,
                      std::size_t key_at, std::size_t value_at) {
    if (value.empty()) return fail(value_at, "expected a value for " + std::string(key));
    if (key == "in") {
      clause.in = value;
    } else if (key == "at") {
      read_place(clause, value, value_at);
    } else if (key == "site") {
      read_site(clause, value, value_at);
    } else if (key == "size") {
      read_sizes(clause, value, value_at);
    } else if (key == "device") {
      const auto number = whole(value);
      if (!number || *number > INT32_MAX) {
        return fail(value_at, "expected the number of a device, such as 0");
      }
      clause.device = static_cast<int>(*number);
    } else if (key == "chance") {
      const std::string text(value);
      char* end = nullptr;
      clause.chance = std::strtod(text.c_str(), &end);
      if (*end != '\0' || !(clause.chance >= 0 && clause.chance <= 1)) {
        fail(value_at, "expected a chance from 0 to 1, such as 0.1");
      }
    } else if (key == "seed") {
      const auto number = whole(value);
      if (!number) return fail(value_at, "expected a whole number");
      clause.seed = *number;
    } else {
      fail(key_at, "unknown condition '" + std::string(key) + "': expected " + kKeys);
    }
  }

  void read_place(Clause& clause, std::string_view value, std::size_t at) {
    const std::size_t colon = value.rfind(':');
    const auto line =
        colon == std::string_view::npos ? std::nullopt : whole(value.substr(colon + 1));
    if (!line || *line == 0 || *line > INT32_MAX || colon == 0) {
      return fail(at, "expected a file and a line, such as cache.cc:41");
    }
    clause.file = value.substr(0, colon);
    clause.line = static_cast<int>(*line);
  }

  void read_site(Clause& clause, std::string_view value, std::size_t at) {
    std::uint64_t number = 0;
    const auto [end, problem] =
        std::from_chars(value.data(), value.data() + value.size(), number, 16);
    if (problem != std::errc{} || end != value.data() + value.size()) {
      return fail(
          at, "expected the hexadecimal number of a call site, as `cuvmm fail --each` gives it");
    }
    clause.site = number;
  }

  static std::optional<std::uint64_t> whole(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
  }

  // "64M": K, M, G and T are powers of 1024.
  static std::optional<std::uint64_t> bytes(std::string_view text) {
    int shift = 0;
    constexpr std::string_view kUnits = "KMGT";
    const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.remove_suffix(1);
    }
    const auto number = whole(text);
    if (!number || *number > (kNoLimit >> shift)) return std::nullopt;
    return *number << shift;
  }

  void read_sizes(Clause& clause, std::string_view value, std::size_t at) {
    constexpr const char* kExpected =
        "expected a size (64M), or a range of them (64M.., ..1G, 2M..4M)";
    clause.sized = true;
    const std::size_t dots = value.find("..");
    const std::string_view low = value.substr(0, dots);
    const std::string_view high = dots == std::string_view::npos ? low : value.substr(dots + 2);
    if (low.empty() && high.empty()) return fail(at, kExpected);
    const auto from = low.empty() ? std::optional<std::uint64_t>(0) : bytes(low);
    const auto to = high.empty() ? std::optional<std::uint64_t>(kNoLimit - 1) : bytes(high);
    if (!from || !to) return fail(at, kExpected);
    if (*from > *to) return fail(at, "the range of sizes ends before it begins");
    clause.size_low = *from;
    clause.size_high = *to;
  }

  void read_counts(Clause& clause) {
    constexpr const char* kExpected =
        "expected which call: 3 (the third), 3+ (from the third on) or 3..5";
    const std::size_t start = at_;
    std::string_view word = until("=!,");
    bool on = false;
    if (word.ends_with('+')) {
      on = true;
      word.remove_suffix(1);
    }
    const std::size_t dots = word.find("..");
    const auto first = whole(word.substr(0, dots));
    const auto last = on                               ? std::optional<std::uint64_t>(kNoLimit)
                      : dots == std::string_view::npos ? first
                                                       : whole(word.substr(dots + 2));
    if (!first || !last || (on && dots != std::string_view::npos)) return fail(start, kExpected);
    if (*first == 0) return fail(start, "calls are counted from 1");
    if (*first > *last) return fail(start, "the range of calls ends before it begins");
    clause.first = *first;
    clause.last = *last;
  }

  void read_code(Clause& clause, std::size_t) {
    const std::size_t start = at_;
    const std::string_view word = until("!,");
    code_at_ = start;
    std::optional<CUresult> code = result_from_name(word);
    if (!code) code = result_from_name("ERROR_" + std::string(word));
    if (!code) {
      const auto number = whole(word);
      if (number && *number <= INT32_MAX) code = static_cast<CUresult>(*number);
    }
    if (!code) {
      return fail(start, "expected a result such as OUT_OF_MEMORY", word.empty() ? "?" : word);
    }
    if (*code == CUDA_SUCCESS) return fail(start, "a call that fails cannot answer CUDA_SUCCESS");
    clause.code = code;
    clause.undocumented = take('!');
  }

  // If the name is a pattern, at least one function that matches must be able to fail with the
  // code.
  void check_code(const Clause& clause, std::size_t function_at) {
    std::string documented;
    for (int i = 0; i < static_cast<int>(EntryPoint::kCount); ++i) {
      const auto entry = static_cast<EntryPoint>(i);
      if (!clause.names(entry)) continue;
      if (clause.answer(entry)) return;
      documented = result_list(documented_results(entry));
    }
    if (!clause.code) {
      return fail(function_at, "no result is documented for " + clause.function +
                                   ": name one, and put '!' behind it");
    }
    const bool pattern =
        clause.function.find('*') != std::string::npos || clause.function == kEachFunction;
    const std::string of = pattern ? "any function " + clause.function : clause.function;
    fail(code_at_, result_name(*clause.code) + " is not documented for " + of +
                       (pattern || documented.empty() ? "" : ", which has " + documented) +
                       "; put '!' behind it to use it all the same");
  }

  std::string_view text_;
  std::size_t at_ = 0, code_at_ = 0;
  std::optional<SpecError> error_;
};

}  // namespace

Spec parse_spec(std::string_view text) { return Reader(text).read(); }

}  // namespace cuvmm::injected_failures
