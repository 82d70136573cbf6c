// SPDX-License-Identifier: Apache-2.0
// A file that another process wrote, or writes: somebody else may have put there what he likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recorder/file_format.h"

namespace cuvmm::recorder {

/// Why a file is not taken.
struct Refusal {
  enum class Kind {
    kNone,
    kUnfinished,  ///< its process is just making it
    kForeign,     ///< no file of this section, or of another version of cuvmm
    kOther
  };
  Kind kind = Kind::kNone;
  std::string text;  ///< a sentence; "" for none
};

/// Whether these bytes, the first ones of a file, are the header of a file of this shape.
Refusal judge_header(std::span<const std::byte> bytes, const Shape& shape);

class RecordedFile {
 public:
  /// Who named the file decides what is taken.
  enum class Named {
    kByPerson,   ///< links are followed
    kByFolder,   ///< it was found in a folder: no links
    kByOneUser,  ///< the same, and it must be this user's; root takes all
  };
  RecordedFile() = default;
  RecordedFile(RecordedFile&& other) noexcept;
  RecordedFile& operator=(RecordedFile&& other) noexcept;
  ~RecordedFile();

  /// Opens a file of this shape. Its bytes are neither read nor judged, but for the header.
  Refusal open(const std::string& path, const Shape& shape, Named named);
  /// Copies these bytes; false where the file ends before.
  bool read(void* to, std::size_t bytes, std::size_t offset) const;
  /// All of it, as its process writes it; what somebody cuts off is all 0 from then on. Null where
  /// it cannot be mapped.
  const void* map();
  /// Whether somebody cut off a part of what is mapped.
  bool cut() const;

 private:
  int file_ = -1;
  std::size_t bytes_ = 0;
  const void* memory_ = nullptr;
};

}  // namespace cuvmm::recorder
