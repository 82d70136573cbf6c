// SPDX-License-Identifier: Apache-2.0
// Remembers objects that have ended, up to a fixed number, so that cuvmm can explain a later use of
// one.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rulebook/base/violation.h"

namespace cuvmm {

/// The last kCapacity ended objects of each kind. find() looks at the newest first. The size is
/// fixed: adding never allocates, and a long run forgets the oldest. cuvmm searches only after a
/// check has failed.
class Tombstones {
 public:
  static constexpr std::size_t kCapacity = 1024;

  [[gnu::hot]] void add(const ObjectRef& object);
  /// The newest ended object of this kind with exactly this value.
  std::optional<ObjectRef> find(ObjectRef::Kind kind, std::uint64_t value) const;
  /// The newest ended object of this kind whose [value, value + size) holds `address`.
  std::optional<ObjectRef> find_covering(ObjectRef::Kind kind, std::uint64_t address) const;
  /// Forgets the handle or address, because the driver gave the value out again.
  [[gnu::hot]] void forget(ObjectRef::Kind kind, std::uint64_t value);
  /// The driver gave out `size` bytes at the address again. If a larger range began there, the
  /// table still knows that the rest has ended.
  [[gnu::hot]] void reuse(ObjectRef::Kind kind, std::uint64_t value, std::uint64_t size);
  /// Takes back the add() of this object.
  void retract(const ObjectRef& object);
  void clear();
  /// Whether an object that this call stack made has ended. May say so by mistake if the process
  /// has more than kMakers stacks.
  bool any_made_by(std::uint32_t stack) const { return makers_[stack % kMakers]; }

 private:
  /// Calls change(object) for each ended object with this value; the object gets another value.
  template <class Change>
  void change_all(ObjectRef::Kind kind, std::uint64_t value, const Change& change);
  /// One cache line each, because the place to write next has always left the caches. A place is
  /// read only after it was written, so a new model need not touch a megabyte.
  union alignas(64) Place {
    Place() {}
    ObjectRef object;
  };
  /// Where the next object goes, and how many objects are stored.
  struct Head {
    std::uint32_t next = 0;
    std::uint32_t count = 0;
  };
  struct Ring {
    std::array<Place, kCapacity> places;
    /// How many objects' values fall into each slot. Where that is 0, forget() needs no search.
    static constexpr std::size_t kFilter = 4096;
    std::array<std::uint16_t, kFilter> filter{};
    /// The places with the rest of a range (reuse()): no object has had the value of such a place.
    std::bitset<kCapacity> rests;
    static std::size_t slot(std::uint64_t value);
  };
  /// The kinds that add() takes: the kinds of the model's own objects.
  static constexpr std::size_t kKinds = static_cast<std::size_t>(ObjectRef::Kind::kWork);
  std::array<Head, kKinds> heads_{};
  std::array<Ring, kKinds> rings_;
  static constexpr std::size_t kMakers = std::size_t{1} << 16;
  std::bitset<kMakers> makers_;  ///< by the stack that made an ended object
};

}  // namespace cuvmm
