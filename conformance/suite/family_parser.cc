// SPDX-License-Identifier: Apache-2.0
// Reads families line by line; every mistake comes with its place.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "conformance/suite/family.h"

namespace cuvmm::conformance {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

// "break rest" -> true and text = "rest", when the line starts with the word.
bool word(std::string_view& text, std::string_view expected) {
  if (text.rfind(expected, 0) != 0) return false;
  if (text.size() > expected.size() &&
      !std::isspace(static_cast<unsigned char>(text[expected.size()])))
    return false;
  text = trim(text.substr(expected.size()));
  return true;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ParsedFamilies parse() {
    std::size_t at = 0;
    while (at <= text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      ++number_;
      raw_ = text_.substr(at, end - at);
      line(trim(raw_));
      at = end + 1;
    }
    finish();
    return {std::move(families_), std::move(errors_)};
  }

 private:
  void fail(std::string_view where, std::string message) {
    const bool inside = where.data() >= raw_.data() && where.data() <= raw_.data() + raw_.size();
    errors_.push_back({number_, inside ? static_cast<int>(where.data() - raw_.data()) + 1 : 1,
                       std::move(message)});
  }

  void line(std::string_view text) {
    if (text.empty() || text.front() == '#') return;
    if (word(text, "family")) {
      finish();
      if (text.empty()) fail(text, "expected the family's name");
      open_ = true;
      family_ = {};
      family_.name = std::string(text);
      in_given_ = false;
    } else if (!open_) {
      fail(text, "expected 'family NAME' first");
    } else if (word(text, "needs")) {
      needs(text);
    } else if (text == "given") {
      in_given_ = true;
    } else if (word(text, "call")) {
      in_given_ = false;
      if (auto statement = parse(text)) family_.call = std::move(*statement);
    } else if (word(text, "break")) {
      in_given_ = false;
      break_(text);
    } else if (in_given_) {
      if (auto statement = parse(text)) family_.given.push_back(std::move(*statement));
    } else {
      fail(text, "expected family, needs, given, call or break");
    }
  }

  static std::optional<int> cuda_version(std::string_view text) {
    constexpr std::string_view kCuda = "cuda>=";
    int version = 0;
    if (text.rfind(kCuda, 0) != 0) return std::nullopt;
    const auto read =
        std::from_chars(text.data() + kCuda.size(), text.data() + text.size(), version);
    const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
    return whole ? std::optional(version) : std::nullopt;
  }

  void needs(std::string_view text) {
    constexpr std::string_view kDevices = "devices=";
    if (text.rfind(kDevices, 0) == 0 && text.size() == kDevices.size() + 1 && text.back() >= '1' &&
        text.back() <= '9') {
      family_.devices = text.back() - '0';
    } else if (const auto version = cuda_version(text)) {
      family_.cuda = *version;
    } else if (text == "support") {
      family_.optional = true;
    } else {
      fail(text, "expected devices=N, N from 1 to 9, cuda>=N, or support");
    }
  }

  std::optional<Statement> parse(std::string_view text) {
    const std::size_t before = errors_.size();
    auto statement = parse_statement(text, number_, errors_);
    if (!statement && errors_.size() == before) fail(text, "expected a call");
    return statement;
  }

  void break_(std::string_view text) {
    const std::size_t colon = text.find(':');
    std::string_view id = trim(text.substr(0, colon));
    if (colon == std::string_view::npos) {
      fail(text, "expected 'break RULE: CHANGE'");
      return;
    }
    const auto rule = find_rule(id);
    if (!rule) {
      fail(id, "no rule " + std::string(id) + " (cuvmm rules lists them)");
      return;
    }
    Break out;
    out.rule = *rule;
    const int nth = ++seen_[*rule];
    if (nth > 1) out.variant = std::to_string(nth);
    std::string_view rest = text.substr(colon + 1);
    while (true) {
      const std::size_t semicolon = rest.find(';');
      change(trim(rest.substr(0, semicolon)), out);
      if (semicolon == std::string_view::npos) break;
      rest = rest.substr(semicolon + 1);
    }
    family_.breaks.push_back(std::move(out));
    break_lines_.push_back(number_);
  }

  void change(std::string_view text, Break& out) {
    if (word(text, "before")) {
      if (auto statement = parse(text)) out.before.push_back(std::move(*statement));
      return;
    }
    if (word(text, "instead")) {
      out.instead = parse(text);
      return;
    }
    // The language's own parser reads the arguments, as those of a call that is then discarded.
    auto statement = parse("x(" + std::string(text) + ")");
    if (!statement) return;
    if (statement->arguments.empty())
      fail(text, "expected key=value, 'before STATEMENT' or 'instead CALL'");
    for (Argument& argument : statement->arguments) {
      if (argument.key.empty())
        fail(text, "expected key=value: an argument is replaced by its key");
      out.replacements.push_back(std::move(argument));
    }
  }

  void finish() {
    if (!open_) return;
    if (family_.call.function.empty()) {
      fail(raw_, "family " + family_.name + " has no call");
    } else {
      check_calls();
    }
    families_.push_back(std::move(family_));
    open_ = false;
    seen_.clear();
    break_lines_.clear();
  }

  // Checks that each statement is a valid call, because the expansion would leave out an invalid
  // one, and nothing else would show that.
  void check_calls() {
    const std::vector<FamilyCase> cases = singles(family_);  // the legal case, then one per break
    for (std::size_t i = 0; i < cases.size(); ++i) {
      std::vector<ParseError> mistakes;
      check_program(cases[i].program, mistakes);
      for (ParseError& mistake : mistakes) {
        const auto same = [&](const ParseError& e) {
          return e.line == mistake.line && e.message == mistake.message;
        };
        if (std::any_of(errors_.begin(), errors_.end(), same)) continue;
        // A mistake in the call that only the case of a break has comes from the arguments of that
        // break.
        if (i != 0 && mistake.line == family_.call.line)
          mistake = {break_lines_[i - 1], 1, mistake.message};
        errors_.push_back(std::move(mistake));
      }
    }
  }

  std::string_view text_;
  std::string_view raw_;
  int number_ = 0;
  bool open_ = false;
  bool in_given_ = false;
  Family family_;
  std::map<Rule, int> seen_;
  std::vector<int> break_lines_;
  std::vector<Family> families_;
  std::vector<ParseError> errors_;
};

}  // namespace

ParsedFamilies parse_families(std::string_view text) { return Parser(text).parse(); }

}  // namespace cuvmm::conformance
