// SPDX-License-Identifier: Apache-2.0
// A file that another process has written, or still writes. Its bytes are not trusted, because
// anybody may have changed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "recorder/file_format.h"

namespace cuvmm::recorder {

/// Why a file is not accepted.
struct Refusal {
  enum class Kind {
    kNone,
    kUnfinished,  ///< its process has not finished the header yet
    kForeign,     ///< no file of this section, or a file of another version of cuvmm
    kOther
  };
  Kind kind = Kind::kNone;
  std::string text;  ///< a sentence; "" where the file is accepted
};

/// Judges whether these bytes, the first of a file, are the header of a file of this shape.
Refusal judge_header(std::span<const std::byte> bytes, const Shape& shape);

class RecordedFile {
 public:
  /// How the file's name was found. This decides which files are accepted.
  enum class Named {
    kByPerson,   ///< a person typed it: links are followed
    kByFolder,   ///< it stood in a folder: no links
    kByOneUser,  ///< as kByFolder, and the file must be this user's; root accepts all
  };
  RecordedFile() = default;
  RecordedFile(RecordedFile&& other) noexcept;
  RecordedFile& operator=(RecordedFile&& other) noexcept;
  ~RecordedFile();

  /// Opens a file of this shape. Reads and judges only its header.
  Refusal open(const std::string& path, const Shape& shape, Named named);
  /// Copies these bytes; false where the file ends before them.
  bool read(void* to, std::size_t bytes, std::size_t offset) const;
  /// Maps the whole file, which its process may still write. Bytes that somebody cuts off read as 0
  /// from then on. Null where the file cannot be mapped.
  const void* map();
  /// Whether somebody cut off a part of the mapped file.
  bool cut() const;

 private:
  int file_ = -1;
  std::size_t bytes_ = 0;
  const void* memory_ = nullptr;
};

}  // namespace cuvmm::recorder
