// SPDX-License-Identifier: Apache-2.0
// A file that this process makes, fills and lets grow for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "recorder/file_format.h"

namespace cuvmm::recorder {

/// The file of a section in this folder: each time the same one for this process while it is this
/// program.
std::string file_in(const std::string& folder, Section section);

/// It is known by its name alone: the program may close any descriptor, and get its number again.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() { close(); }

  /// Makes the file, which must not be there, for this user alone, gives its first bytes their
  /// pages, and maps all of it. errno, or 0; but for 0 no file is left.
  int create(const std::string& path, const Shape& shape, std::size_t first) noexcept;
  /// Says of which process and of which libcuda it is.
  void describe(const std::string& driver) noexcept;
  /// Readers take it from here on.
  void publish() noexcept;
  /// Where it lies, all 0 at first; null: nowhere. It begins with a FileHeader.
  void* memory() const noexcept { return memory_; }
  /// Gives these bytes of the file their pages, which it has not yet; false when there are none.
  /// After a refusal it asks the system only now and then: each time after twice as many calls.
  bool grow(std::size_t offset, std::size_t bytes) noexcept;
  /// The file stays.
  void close() noexcept;

 private:
  FileHeader& header() const noexcept { return *static_cast<FileHeader*>(memory_); }

  std::string path_;
  Shape shape_{};
  void* memory_ = nullptr;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t refused_ = 0;  // calls since the first one that got nothing
};

/// Fills in what a file of this shape says of itself; its first moment is now. For a NewFile, and
/// for images in memory.
void begin_header(FileHeader& header, const Shape& shape) noexcept;
/// The last moment known is now. Async-signal-safe.
void note_moment(FileHeader& header) noexcept;

}  // namespace cuvmm::recorder
