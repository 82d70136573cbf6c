// SPDX-License-Identifier: Apache-2.0
// Frames in the test's own memory, laid out as an interpreter lays them out.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <string>

#include "shim/stack/python/names.h"
#include "shim/stack/python/walk.h"

namespace cuvmm::shim {

inline constexpr std::uintptr_t kCodeType = 0x1000, kStringType = 0x2000, kBytesType = 0x3000;

/// The memory of an interpreter: blocks of bytes that never move.
class World {
 public:
  explicit World(const PythonLayout& layout)
      : python{layout, nullptr, kCodeType, kStringType, kBytesType} {
    thread = block();
    put(thread, layout.thread.thread_id, ::pthread_self());
    if (layout.thread.cframe_frame == PythonLayout::kNowhere) return;
    cframe_ = block();
    put(thread, layout.thread.frame, cframe_);
  }
  std::uintptr_t block() { return reinterpret_cast<std::uintptr_t>(blocks_.emplace_back().bytes); }
  template <class Value>
  void put(std::uintptr_t at, std::size_t offset, Value value) {
    std::memcpy(reinterpret_cast<void*>(at + offset), &value, sizeof value);
  }
  std::uintptr_t string(const std::string& text) {
    const std::uintptr_t at = block();
    put(at, PythonLayout::kObjectType, kStringType);
    put(at, PythonLayout::kStringLength, text.size());
    put(at, PythonLayout::kStringHash, std::hash<std::string>()(text));
    put(at, PythonLayout::kStringState, std::uint32_t{1 << 2 | 1 << 5 | 1 << 6});
    std::memcpy(reinterpret_cast<void*>(at + python.layout.ascii_size), text.data(), text.size());
    return at;
  }
  std::uintptr_t code(const std::string& name, const std::string& file, int line) {
    const auto& layout = python.layout;
    const std::uintptr_t at = block(), lines = block();
    put(at, PythonLayout::kObjectType, kCodeType);
    put(at, PythonLayout::kObjectSize, std::int64_t{8});  // instructions
    put(at, layout.code.name, string(name));
    put(at, layout.code.filename, string(file));
    put(at, layout.code.first_line, line);
    put(at, layout.code.lines, lines);
    if (layout.code.version != PythonLayout::kNowhere) put(at, layout.code.version, ++versions_);
    put(lines, PythonLayout::kObjectType, kBytesType);
    return at;
  }
  /// Adds a frame that the innermost frame so far has called.
  std::uintptr_t call(std::uintptr_t code, int owner = 0) {
    const auto& layout = python.layout;
    const std::uintptr_t at = block();
    put(at, layout.frame.code, code | (owner == 0 ? 1 : 0));  // with a tag, as in 3.14
    put(at, layout.frame.previous, innermost);
    if (layout.code.bytecode != PythonLayout::kNowhere)
      put(at, layout.frame.instruction, code + layout.code.bytecode + 4);
    if (layout.frame.owner != PythonLayout::kNowhere)
      put(at, layout.frame.owner, static_cast<std::uint8_t>(owner));
    innermost = at;
    if (cframe_ != 0) {
      put(cframe_, layout.thread.cframe_frame, at);
    } else {
      put(thread, layout.thread.frame, at);
    }
    return at;
  }
  template <class Value>
  Value get(std::uintptr_t at, std::size_t offset) {
    return GuardedMemory::at<Value>(at + offset);
  }
  PythonWalk::End read() {
    GuardedMemory memory{};
    return walk.read(python, memory, nullptr, thread);
  }
  std::string named(std::size_t i) {
    GuardedMemory memory{};
    const PythonWord word = name_python_place(python, memory, walk.places[i]);
    if (word == 0) return "none";
    const PythonName& name = python_name(word);
    return std::string(name.function) + " " + name.file + ":" + std::to_string(name.line);
  }

  PythonInterpreter python;
  std::uintptr_t thread = 0, innermost = 0;
  PythonWalk walk;

 private:
  struct Block {
    alignas(16) char bytes[512] = {};
  };
  std::deque<Block> blocks_;
  std::uintptr_t cframe_ = 0;
  std::uint32_t versions_ = 0;
};

}  // namespace cuvmm::shim
