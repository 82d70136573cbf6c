// SPDX-License-Identifier: Apache-2.0
// Remembers the entry that the last search of a table found, because from create to release the
// calls about one block name the same handle again and again.
#pragma once

namespace cuvmm {

/// A pointer to an entry that stays where it is until it is erased. A caller that erases an entry
/// calls forget(). Not thread-safe, not even for searches.
template <class Entry>
class LastFound {
 public:
  LastFound() = default;
  // An entry of another table means nothing here.
  LastFound(const LastFound&) {}
  LastFound& operator=(const LastFound&) {  // NOLINT(bugprone-unhandled-self-assignment)
    entry_ = nullptr;
    return *this;
  }

  const Entry* get() const { return entry_; }
  const Entry* set(const Entry* entry) { return entry_ = entry; }
  void forget() { entry_ = nullptr; }

 private:
  const Entry* entry_ = nullptr;
};

}  // namespace cuvmm
