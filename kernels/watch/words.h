// SPDX-License-Identifier: Apache-2.0
// The last accesses to each word of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace cuvmm::kernels {

/// A thread's access to bytes of a word of four.
struct Mark {
  std::uint32_t moment = 0;  ///< 0: there was none
  std::uint32_t block = 0;   ///< the number of the thread's block in the grid
  std::uint32_t line = 0;
  std::uint16_t thread = 0;  ///< in the block
  std::uint8_t bytes = 0;    ///< a bit for each byte
  std::uint8_t effect = 0;   ///< of MemoryEffect
};

struct Word {
  Mark write, reads[2];
  std::uint32_t value = 0;  ///< that `write` wrote
};

/// Words by the place of their bytes in the host.
class Words {
 public:
  /// Null: the launch accessed so much memory that this word is not followed.
  Word* at(std::uintptr_t place) {
    const std::uintptr_t page = place >> kPageBits;
    if (page != last_page_) {
      auto found = pages_.find(page);
      if (found == pages_.end()) {
        if (pages_.size() >= kMostPages) return nullptr;
        found = pages_.emplace(page, std::make_unique<Word[]>(kWords)).first;
      }
      last_page_ = page;
      last_ = found->second.get();
    }
    return &last_[place / sizeof(std::uint32_t) % kWords];
  }

 private:
  static constexpr unsigned kPageBits = 12;
  static constexpr std::size_t kWords = (1U << kPageBits) / sizeof(std::uint32_t);
  static constexpr std::size_t kMostPages = 8192;  ///< 32 MiB that are followed

  std::unordered_map<std::uintptr_t, std::unique_ptr<Word[]>> pages_;
  std::uintptr_t last_page_ = ~std::uintptr_t{0};
  Word* last_ = nullptr;
};

}  // namespace cuvmm::kernels
