// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/program_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
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
  for (const ParseError& error : parsed.errors) {
    result.error += (result.error.empty() ? "" : "\n") +
                    format_error(error, path == "-" ? "<standard input>" : path);
  }
  if (result.error.empty()) result.program = std::move(parsed.program);
  return result;
}

}  // namespace cuvmm::tools
