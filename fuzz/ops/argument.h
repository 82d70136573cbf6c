// SPDX-License-Identifier: Apache-2.0
// One argument of a statement in the program text, as a source writes it and reads it back.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "fuzz/ops/op.h"
#include "program/program.h"
#include "program/resolve.h"

namespace cuvmm::fuzz {

using program::Argument;
using program::BoundArguments;
using program::NameSource;
using program::Resolver;
using program::Value;

/// The names that a text has bound so far, for its writer.
struct WrittenNames {
  bool bound[kNameKinds][256] = {};
  int buffers = 0;  ///< number of buffers so far: "b1", "b2" are host memory for reads

  static std::string name(NameKind kind, std::uint8_t number);
  /// "r1"; empty for a name that is not bound.
  std::string text(NameKind kind, std::uint8_t number) const;
};

/// The names that a text binds, and the text's first error, for its reader.
class ReadNames {
 public:
  /// Gives the name a number: its own digits where they are free.
  std::uint8_t bind(NameKind kind, const std::string& text);
  /// 0 for a name that is not bound.
  std::uint8_t find(NameKind kind, const std::string& text) const;

 private:
  std::map<std::string, std::uint8_t> names_[kNameKinds];
};

/// Gives every name the value 0, so that a sum is the distance from the name.
class ZeroNames : public NameSource {
 public:
  std::optional<std::uint64_t> lookup(std::string_view) override { return 0; }
  void* buffer(std::size_t, unsigned char) override { return this; }
  std::string missing(std::string_view) const override { return {}; }
};

/// The reader of one argument.
class Argued {
 public:
  struct State {
    ZeroNames zero;
    Resolver resolver{zero};
    ReadNames names;
    BoundArguments bound;
    std::string problem;  ///< why no op can hold the statement; empty where one can
  };
  Argued(State& state, const Value* value, std::span<const Word> words)
      : state_(state), value_(value), words_(words) {}

  /// Null where the text leaves the argument out.
  const Value* value() const { return value_; }
  bool null() const { return value_ && value_->kind == Value::Kind::kNull; }
  /// The number; 0 for null and where the text leaves the argument out.
  std::uint64_t number() const;
  /// The name that the argument is, or begins with; 0 for none.
  std::uint8_t reference(NameKind kind) const;
  /// Splits the number into granules and odd bytes.
  void split(std::uint8_t& granules, std::uint8_t& odd, const char* what) const;
  /// The fields of a flattened CUmemAllocationProp.
  const std::vector<const Argument*>& properties() const { return state_.bound.properties; }
  Resolver& resolver() const { return state_.resolver; }
  /// The reader of a part of this value: a field, or an element.
  Argued part(const Value* value, std::span<const Word> words) const {
    return Argued(state_, value, words);
  }
  /// Records that an op cannot hold the argument.
  void refuse(const char* problem) const { state_.problem = problem; }

 private:
  State& state_;
  const Value* value_;
  std::span<const Word> words_;
};

}  // namespace cuvmm::fuzz
