// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/site.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "shim/loader/module_map.h"
#include "shim/process/own_stack.h"
#include "shim/stack/python/names.h"
#include "shim/stack/stack_text.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

// FNV-1a: the same on every machine.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(number >> (8 * i) & 0xff);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

bool in_file(const Frame& frame, const std::string& file) {
  const std::string_view path = frame.file;
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/';
}

}  // namespace

std::uint64_t site_number(EntryPoint entry, StackId stack) {
  const ModuleMap modules = ModuleMap::of_this_process();
  Hash hash;
  hash.add(name(entry));
  for (const std::uintptr_t address : stack_frames(stack)) {
    const ModuleMap::Place place = modules.find(address);
    if (place.path.empty()) continue;
    hash.add(file_name(place.path));
    hash.add(place.offset);
  }
  // The interpreter's own frames are alike for all lines of a program.
  for (const PythonWord word : stack_python(stack)) {
    const PythonName& line = python_name(word);
    if (!line.file) continue;
    hash.add(file_name(line.file));
    if (line.function) hash.add(line.function);
    hash.add(static_cast<std::uint64_t>(line.line));
  }
  return hash.value();
}

std::string site_text(std::uint64_t site) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(site));
  return text;
}

bool frames_match(const failure::Clause& clause, StackId stack) {
  std::vector<Frame> frames;
  prepare_symbolizer();
  findings_stack().run([&] { frames = symbolize(stack); }, kDescribingPatience);
  const auto inside = [&](const Frame& frame) {
    return frame.function.find(clause.in) != std::string::npos;
  };
  const auto there = [&](const Frame& frame) {
    return frame.line == clause.line && in_file(frame, clause.file);
  };
  return (clause.in.empty() || std::ranges::any_of(frames, inside)) &&
         (clause.file.empty() || std::ranges::any_of(frames, there));
}

}  // namespace cuvmm::shim
