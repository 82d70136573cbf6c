// SPDX-License-Identifier: Apache-2.0
// From a statement's arguments to a call: names become values, properties become structures.
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

/// Where names get their values. The checker of the parser and the executor each have their own.
class NameSource {
 public:
  virtual ~NameSource() = default;
  /// The value of a bound name; nothing when it has none.
  virtual std::optional<std::uint64_t> lookup(std::string_view name) = 0;
  /// A buffer of host memory that lives as long as the source, for host() in place.
  virtual void* buffer(std::size_t size, unsigned char fill) = 0;
  /// The buffer that a name stands for; empty when it is none, and while a text is only checked.
  virtual std::span<const unsigned char> bytes(std::string_view) const { return {}; }
  /// Why a name has no value: "expected a bound name, found 'x'" or that its call failed.
  virtual std::string missing(std::string_view name) const = 0;
};

/// What a call's pointers point to. Not copyable: the call holds addresses into it.
struct CallStorage {
  static constexpr std::size_t kOutBytes = 64;  ///< a fabric handle is the largest
  static constexpr unsigned char kUntouched = 0xcd;
  struct alignas(16) Out {
    std::array<unsigned char, kOutBytes> bytes;
    /// The call wrote here.
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

/// Turns values into numbers and structures; mistakes are appended to errors().
class Resolver {
 public:
  explicit Resolver(NameSource& names) : names_(names) {}

  const std::vector<ArgumentError>& errors() const { return errors_; }

  /// A number, a sum, words joined with |, or host() in place. 0 after a mistake.
  std::uint64_t number(const Value& value, std::span<const Word> words = {});
  /// The text of a string value.
  std::string string(const Value& value);
  CUmemAllocationProp properties(const std::vector<const Argument*>& properties);
  CUmemLocation location(const Value& value);
  std::vector<CUmemAccessDesc> access(const Value& value);
  /// The structure of a record, its keys those of record_fields.h.
  template <class Record>
  Record record(const Value& value);
  /// 64 bytes: those of a buffer, or a string of hexadecimal digits, padded with zeros.
  std::array<unsigned char, kBlobBytes> blob(const Value& value);
  std::vector<CUmemLocation> locations(const Value& list);
  std::vector<std::uint64_t> list(const Value& value);
  /// A launch's arguments: a list whose lists are structures.
  std::vector<LaunchArgument> launch_arguments(const Value& value);

  /// The call of an entry point, its pointers into `storage`. Meaningless after a mistake.
  Call call(const BoundArguments& bound, CallStorage& storage);

  void fail(const Value& value, std::string expected);

 private:
  std::optional<CUmemLocation> location_word(std::string_view word) const;

  NameSource& names_;
  std::vector<ArgumentError> errors_;
};

}  // namespace cuvmm::program
