// What is gone: bounded memory of ended objects, so that a stale use can be explained.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "spec/violation.h"

namespace cuvmm {

/// The last kCapacity ended objects of each kind, newest first when searched. Fixed size: adding
/// never allocates, and a long run forgets the oldest. Searched only when a check has failed.
class Tombstones {
 public:
  static constexpr std::size_t kCapacity = 1024;

  void add(const ObjectRef& object);
  /// The newest ended object of this kind with exactly this value.
  std::optional<ObjectRef> find(ObjectRef::Kind kind, std::uint64_t value) const;
  /// The newest ended object of this kind whose [value, value + size) holds `address`.
  std::optional<ObjectRef> find_covering(ObjectRef::Kind kind, std::uint64_t address) const;
  /// Forgets the handle or address: the driver gave the value out again.
  void forget(ObjectRef::Kind kind, std::uint64_t value);
  void clear();

 private:
  struct Ring {
    std::array<ObjectRef, kCapacity> objects{};
    std::size_t next = 0;
    std::size_t count = 0;
    /// How many objects' values fall into each slot: an empty one answers forget() without a
    /// search.
    static constexpr std::size_t kFilter = 4096;
    std::array<std::uint16_t, kFilter> filter{};
    static std::size_t slot(std::uint64_t value);
  };
  std::array<Ring, static_cast<std::size_t>(ObjectRef::Kind::kCount)> rings_{};
};

}  // namespace cuvmm
