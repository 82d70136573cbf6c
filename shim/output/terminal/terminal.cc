// SPDX-License-Identifier: Apache-2.0
#include "shim/output/terminal/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "shim/output/output.h"

namespace cuvmm::shim {

namespace {

constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kGreen = "\x1b[32m";

struct KindColor {
  std::string_view head, color;
};
constexpr std::array<KindColor, 6> kKinds{{
    {"cuvmm: error:", "\x1b[1;31m"},
    {"cuvmm: undefined:", "\x1b[1;35m"},
    {"cuvmm: leak:", "\x1b[1;33m"},
    {"cuvmm: advice:", "\x1b[1;36m"},
    {"cuvmm: answer:", "\x1b[36m"},
    {"cuvmm: refused:", "\x1b[1;36m"},
}};

// On a narrower terminal, breaking lines does not help.
constexpr std::size_t kNarrowest = 40;

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// The number of columns, as exactly as it can be found without tables: counts bytes that begin a
// character.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void add_wrapped(std::string& out, std::string_view line, std::size_t width) {
  const std::size_t indent = indent_of(line), hanging = indent + 2;
  out.append(line.substr(0, indent));
  line.remove_prefix(indent);
  std::size_t used = indent;
  bool first = true;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    const std::size_t room = columns(word) + (first ? 0 : 1);
    if (!first && used + room > width) {
      out += '\n';
      out.append(hanging, ' ');
      used = hanging;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out.append(word);
    used += columns(word);
    first = false;
  }
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (columns(line) > width) {
      add_wrapped(out, line, width);
    } else {
      out.append(line);
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void add_painted(std::string& out, std::string_view text, std::string_view color) {
  out.append(color).append(text).append(kReset);
}

// The rule's id at the end of a finding's first sentence: "[cuMemMap-offset-zero]".
void add_with_rule(std::string& out, std::string_view line) {
  const std::size_t open = line.rfind(" [cu"), close = line.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    out.append(line);
    return;
  }
  out.append(line.substr(0, open + 1));
  add_painted(out, line.substr(open + 1, close - open), kBold);
  out.append(line.substr(close + 1));
}

void add_colored(std::string& out, std::string_view line) {
  for (const KindColor& kind : kKinds) {
    if (!line.starts_with(kind.head)) continue;
    add_painted(out, kind.head, kind.color);
    add_with_rule(out, line.substr(kind.head.size()));
    return;
  }
  const std::size_t indent = indent_of(line);
  const std::string_view rest = line.substr(indent);
  constexpr std::string_view kFix = "fix:";
  if (rest.starts_with('#') && !rest.ends_with("(Python)")) {
    add_painted(out, line, kDim);
  } else if (indent == 4 && rest.starts_with(kFix)) {
    out.append(line.substr(0, indent));
    add_painted(out, kFix, kGreen);
    out.append(rest.substr(kFix.size()));
  } else {
    add_with_rule(out, line);
  }
}

std::string colored(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_colored(out, text.substr(0, end));
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool colors_unwanted() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (no_color && *no_color != '\0') || (terminal && std::string_view(terminal) == "dumb");
}

}  // namespace

TextStyle style_of_stderr(ColorChoice choice) noexcept {
  const int before = errno;
  const std::size_t width = stderr_columns();
  errno = before;
  const bool by_itself = width != 0 && !colors_unwanted();
  return {choice == ColorChoice::kAlways || (choice == ColorChoice::kAuto && by_itself),
          width < kNarrowest ? 0 : width};
}

std::string styled(std::string_view text, const TextStyle& style) {
  std::string fitting = style.width == 0 ? std::string(text) : wrapped(text, style.width);
  return style.color ? colored(fitting) : fitting;
}

}  // namespace cuvmm::shim
