// SPDX-License-Identifier: Apache-2.0
// Writes values in Python's pickle format, version 2, with only the few opcodes that every reader
// knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

class Pickle {
 public:
  Pickle() : bytes_("\x80\x02") {}
  void begin_dict() { bytes_ += "}("; }
  void end_dict() { bytes_ += 'u'; }
  void begin_list() {
    bytes_ += "](";
    items_.push_back(0);
  }
  /// Must be called before each item of the innermost list. The items are written in batches,
  /// because readers take a whole batch at once, and some readers cannot take a large one.
  void item() {
    constexpr unsigned kBatch = 1000;
    if (++items_.back() % kBatch == 0) bytes_ += "e(";
  }
  void end_list() {
    bytes_ += 'e';
    items_.pop_back();
  }
  /// Gives the last value a number, by which recall() repeats it.
  void remember(std::uint32_t number) {
    bytes_ += 'r';
    little_endian(number, 4);
  }
  void recall(std::uint32_t number) {
    bytes_ += 'j';
    little_endian(number, 4);
  }
  void text(std::string_view value) {
    bytes_ += 'X';
    little_endian(value.size(), 4);
    bytes_ += value;
  }
  void number(std::uint64_t value) {
    if (value <= 0x7fffffff) {
      bytes_ += 'J';
      return little_endian(value, 4);
    }
    // The highest bit is the sign, so a number with that bit set gets a ninth byte. Other numbers
    // get no extra byte, because some readers would take them for another type.
    const bool large = value >> 63 != 0;
    bytes_ += large ? "\x8a\x09" : "\x8a\x08";
    little_endian(value, 8);
    if (large) bytes_ += '\0';
  }
  void flag(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  /// Makes a pair of the last two values.
  void pair() { bytes_ += '\x86'; }

  // Members of a dict.
  void key(std::string_view name) { text(name); }
  void member(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void member(std::string_view name, std::uint64_t value) {
    key(name);
    number(value);
  }

  std::string finish() && { return std::move(bytes_) + "."; }

 private:
  void little_endian(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  std::string bytes_;
  std::vector<unsigned> items_;  // numbers of items in the open lists
};

}  // namespace cuvmm::tools
