// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/site.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "api/fnv1a.h"
#include "frames/stack_text.h"
#include "shim/base/own_stack.h"
#include "shim/modules/module_map.h"
#include "shim/stack/python/names.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

namespace {

// FNV-1a, which gives equal numbers on every machine.
void add_text(Fnv1a& hash, std::string_view text) {
  hash.add(text);
  hash.add(std::uint64_t{0});
}

void add_number(Fnv1a& hash, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) hash.add(number >> (8 * i) & 0xff);
}

bool in_file(const Frame& frame, const std::string& file) {
  const std::string_view path = frame.file;
  if (!path.ends_with(file)) return false;
  return path.size() == file.size() || path[path.size() - file.size() - 1] == '/';
}

}  // namespace

std::uint64_t site_number(EntryPoint entry, StackId stack) {
  const ModuleMap modules = ModuleMap::of_this_process();
  Fnv1a hash;
  add_text(hash, name(entry));
  for (const std::uintptr_t address : stack_frames(stack)) {
    const ModuleMap::Place place = modules.find(address);
    if (place.path.empty()) continue;
    add_text(hash, frames::file_name(place.path));
    add_number(hash, place.offset);
  }
  // The interpreter's own frames are equal for all lines of a program, so the lines count too.
  for (const PythonWord word : stack_python(stack)) {
    const PythonName& line = python_name(word);
    if (!line.file) continue;
    add_text(hash, frames::file_name(line.file));
    if (line.function) add_text(hash, line.function);
    add_number(hash, static_cast<std::uint64_t>(line.line));
  }
  return hash.value();
}

std::string site_text(std::uint64_t site) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(site));
  return text;
}

bool frames_match(const injected_failures::Clause& clause, StackId stack) {
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
