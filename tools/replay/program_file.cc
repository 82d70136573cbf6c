// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/program_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <span>
#include <tuple>

#include "api/posix/whole_file.h"

namespace cuvmm::tools {

using program::parse_program;
using program::ParsedProgram;
using program::ParseError;

ProgramFile read_program(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    WholeFile file = whole_file(path);
    if (!file.error.empty()) return {{}, path + ": " + file.error};
    text = std::move(file.text);
  }
  ParsedProgram parsed = parse_program(text);
  std::stable_sort(parsed.errors.begin(), parsed.errors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  ProgramFile result;
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (!parsed.errors.empty() && start != text.npos && (text[start] == '{' || text[start] == '<')) {
    return {{}, path + ": this is no program text; `cuvmm run --trace FILE` writes it"};
  }
  constexpr std::size_t kMostNamed = 20;
  for (const ParseError& error :
       std::span(parsed.errors).first(std::min(parsed.errors.size(), kMostNamed))) {
    result.error += (result.error.empty() ? "" : "\n") +
                    format_error(error, path == "-" ? "<standard input>" : path);
  }
  if (parsed.errors.size() > kMostNamed) {
    result.error += "\nand " + std::to_string(parsed.errors.size() - kMostNamed) + " more";
  }
  if (result.error.empty()) result.program = std::move(parsed.program);
  return result;
}

}  // namespace cuvmm::tools
