// SPDX-License-Identifier: Apache-2.0
// Turns a statement's arguments into a call: names become values, properties become structures.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "api/words.h"
#include "program/kernel/launch_arguments.h"
#include "program/signature.h"

namespace cuvmm::program {

/// Gives names their values. The parser's checker and the executor each have a source of their own.
class NameSource {
 public:
  virtual ~NameSource() = default;
  /// The value of a bound name; nothing if the name has none.
  virtual std::optional<std::uint64_t> lookup(std::string_view name) = 0;
  /// A buffer of host memory that lives as long as the source, for a host() among the arguments.
  virtual void* buffer(std::size_t size, unsigned char fill) = 0;
  /// The bytes of the buffer that a name is bound to. Empty for any other name, and if a text is
  /// only checked.
  virtual std::span<const unsigned char> bytes(std::string_view) const { return {}; }
  /// Why a name has no value: "expected a bound name, found 'x'", or that its call failed.
  virtual std::string missing(std::string_view name) const = 0;
};

/// The memory behind a call's pointers. Not copyable, because the call holds addresses into it.
struct CallStorage {
  static constexpr std::size_t kOutBytes = 64;  ///< the size of a fabric handle, the largest output
  static constexpr unsigned char kUntouched = 0xcd;
  struct alignas(16) Out {
    std::array<unsigned char, kOutBytes> bytes;
    /// Whether the call wrote here.
    bool touched() const;
    template <class T>
    T as() const {
      static_assert(sizeof(T) <= kOutBytes);
      T value;
      __builtin_memcpy(&value, bytes.data(), sizeof value);
      return value;
    }
  };

  CallStorage() {
    for (Out& out : outs) out.bytes.fill(kUntouched);
  }
  CallStorage(const CallStorage&) = delete;
  CallStorage& operator=(const CallStorage&) = delete;

  std::array<Out, 16> outs;  ///< by parameter
  CUmemAllocationProp prop{};
  CUmemLocation location{};
  std::vector<CUmemAccessDesc> access;
  std::deque<std::shared_ptr<void>> records;
  std::size_t listed = 0;  ///< elements of the last array
  std::deque<std::vector<std::uint64_t>> lists;
};

/// Turns values into numbers and structures, and appends mistakes to errors().
class Resolver {
 public:
  explicit Resolver(NameSource& names) : names_(names) {}

  const std::vector<ArgumentError>& errors() const { return errors_; }

  /// The number of a value: a number, a sum, words joined with |, or a host(). 0 after a mistake.
  std::uint64_t number(const Value& value, std::span<const Word> words = {});
  /// The text of a string value.
  std::string string(const Value& value);
  CUmemAllocationProp properties(const std::vector<const Argument*>& properties);
  CUmemLocation location(const Value& value);
  std::vector<CUmemAccessDesc> access(const Value& value);
  /// The structure that a record describes; its keys are those of record_fields.h.
  template <class Record>
  Record record(const Value& value);
  /// 64 bytes: the bytes of a buffer, or a string of hexadecimal digits, padded with zeros.
  std::array<unsigned char, kBlobBytes> blob(const Value& value);
  std::vector<CUmemLocation> locations(const Value& list);
  std::vector<std::uint64_t> list(const Value& value);
  /// A launch's arguments: a list whose lists are structures.
  std::vector<LaunchArgument> launch_arguments(const Value& value);

  /// The call of an entry point, with pointers into `storage`. Meaningless after a mistake.
  Call call(const BoundArguments& bound, CallStorage& storage);

  void fail(const Value& value, std::string expected);

 private:
  std::optional<CUmemLocation> location_word(std::string_view word) const;

  NameSource& names_;
  std::vector<ArgumentError> errors_;
};

}  // namespace cuvmm::program
