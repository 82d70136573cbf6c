// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <tuple>

#include "api/posix/whole_file.h"
#include "conformance/suite/case.h"

namespace cuvmm::conformance {

using program::ParseError;

namespace {

std::vector<std::pair<std::string, int>> words(std::string_view line) {
  std::vector<std::pair<std::string, int>> found;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos && line[at] != '#') {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    found.emplace_back(line.substr(at, end - at), static_cast<int>(at) + 1);
    at = end;
  }
  return found;
}

std::optional<Need> parse_need(std::string_view text) {
  Need need;
  if (text == "multicast") return Need{Need::What::kMulticast, false, 1};
  if (text == "managed") return Need{Need::What::kManaged, false, 1};
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  need.at_least = text[equals - 1] == '>';
  const std::string_view what = text.substr(0, equals - (need.at_least ? 1 : 0));
  const std::string_view number = text.substr(equals + 1);
  const auto read = std::from_chars(number.begin(), number.end(), need.number);
  if (read.ec != std::errc() || read.ptr != number.end()) return std::nullopt;
  if (what == "fabric_channel") {
    need.what = Need::What::kFabricChannel;
  } else if (what == "cuda") {
    need.what = Need::What::kCuda;
  } else if (what != "devices") {
    return std::nullopt;
  }
  return need;
}

class FileParser {
 public:
  explicit FileParser(const std::string& file) : file_(file) {}

  void line(std::string_view text, int number) {
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    const auto tokens = words(text);
    if (tokens.empty()) return;
    const std::string& first = tokens[0].first;
    if (first == "case") {
      finish();
      if (tokens.size() != 2) error(number, 1, "expected one name behind 'case'");
      parsed_.cases.push_back({});
      current().name = tokens.size() > 1 ? tokens[1].first : "";
      current().file = file_;
      current().line = number;
      if (!names_.insert(current().name).second) {
        error(number, 6, "expected a name that no other case has, found '" + current().name + "'");
      }
    } else if (parsed_.cases.empty()) {
      error(number, tokens[0].second, "expected 'case NAME', found '" + first + "'");
    } else if (first == "breaks" && tokens.size() > 1) {
      for (std::size_t i = 1; i < tokens.size(); ++i) current().breaks.push_back(tokens[i].first);
    } else if (first == "needs" && tokens.size() > 1) {
      for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (const auto need = parse_need(tokens[i].first)) {
          current().needs.push_back(*need);
        } else {
          error(number, tokens[i].second,
                "expected devices=N, devices>=N, fabric_channel=N, cuda>=N, managed or multicast, "
                "found '" +
                    tokens[i].first + "'");
        }
      }
    } else {
      std::vector<ParseError> errors;
      if (auto statement = parse_statement(text, number, errors)) {
        current().program.statements.push_back(std::move(*statement));
      }
      add(errors);
    }
  }

  ParsedCases take() {
    finish();
    return std::move(parsed_);
  }

 private:
  Case& current() { return parsed_.cases.back(); }
  void error(int line, int column, std::string message) {
    add({{line, column, std::move(message)}});
  }
  void add(const std::vector<ParseError>& errors) {
    for (const ParseError& one : errors) parsed_.errors.push_back(format_error(one, file_));
  }

  // Checks what only a whole case shows: unbound names, and rules that its header names but no
  // line, or the reverse.
  void finish() {
    if (parsed_.cases.empty()) return;
    add_implied_needs(current());
    std::vector<ParseError> errors;
    check_program(current().program, errors);
    add(errors);
    std::set<std::string> stated(current().breaks.begin(), current().breaks.end());
    std::set<std::string> broken;
    for (const Statement& statement : current().program.statements) {
      broken.insert(statement.breaks.begin(), statement.breaks.end());
    }
    if (stated != broken) {
      error(current().line, 1,
            "expected 'breaks' to name the rules of the case's lines, and no other");
    }
    if (current().program.statements.empty())
      error(current().line, 1, "expected statements in the case");
  }

  std::string file_;
  ParsedCases parsed_;
  std::set<std::string> names_;
};

}  // namespace

ParsedCases parse_cases(std::string_view text, const std::string& file) {
  FileParser parser(file);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    parser.line(text.substr(0, end), number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parser.take();
}

ParsedCases load_cases(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  ParsedCases all;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    constexpr auto kWhatMayBeRead = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(path, kWhatMayBeRead, failed), end;
         !failed && at != end; at.increment(failed)) {
      if (at->path().extension() == ".cuvmm") found.push_back(at->path());
    }
    // Sorted by name, so that the order of the cases does not depend on the folder of a file.
    std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
      return std::tuple(a.filename(), a) < std::tuple(b.filename(), b);
    });
    for (const fs::path& file : found) files.push_back(file.string());
  }
  for (const std::string& file : files) {
    const WholeFile read = whole_file(file);
    if (!read.error.empty()) {
      all.errors.push_back(file + ": " + read.error);
      continue;
    }
    ParsedCases parsed = parse_cases(read.text, file);
    std::move(parsed.cases.begin(), parsed.cases.end(), std::back_inserter(all.cases));
    std::move(parsed.errors.begin(), parsed.errors.end(), std::back_inserter(all.errors));
  }
  return all;
}

}  // namespace cuvmm::conformance
