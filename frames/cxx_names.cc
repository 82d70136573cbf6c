// SPDX-License-Identifier: Apache-2.0
#include "frames/cxx_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace cuvmm::frames {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// The position at which the template argument that begins at `at` ends: the '>' or ',' of its own
// level.
std::size_t end_of_argument(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (depth == 0 && (c == '>' || c == ',')) return at;
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
  }
  return std::string_view::npos;
}

// Erases the last argument of each template that begins with `head`, such as ", std::allocator<X>":
// programs leave these arguments at their defaults.
void drop_last_argument(std::string& text, std::string_view head) {
  std::size_t at = text.find(head);
  while (at != std::string::npos) {
    const std::size_t end = end_of_argument(text, at + 2);
    if (end != std::string::npos && text[end] == '>') {
      text.erase(at, end - at);
      if (at < text.size() && text[at] == ' ') text.erase(at, 1);
    } else {
      ++at;
    }
    at = text.find(head, at);
  }
}

}  // namespace

std::string demangled(const char* name) {
  const std::string_view all = name;
  std::string plain(all.substr(0, all.find('@')));
  if (!plain.starts_with("_Z")) return plain;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status), &std::free);
  return readable ? std::string(readable.get()) : plain;
}

std::string shortened(std::string_view name) {
  std::string text(name);
  if (text.find("std::") == std::string::npos) return text;
  replace_all(text, "std::__cxx11::", "std::");
  replace_all(text, "std::__1::", "std::");
  replace_all(text, "[abi:cxx11]", "");
  replace_all(text, "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
              "std::string");
  replace_all(text, "std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
              "std::string");
  replace_all(text, "> >", ">>");
  replace_all(text, "> >", ">>");  // three in a row
  drop_last_argument(text, ", std::allocator<");
  drop_last_argument(text, ", std::default_delete<");
  drop_last_argument(text, ", std::less<");
  drop_last_argument(text, ", std::equal_to<");
  drop_last_argument(text, ", std::hash<");
  return text;
}

}  // namespace cuvmm::frames
