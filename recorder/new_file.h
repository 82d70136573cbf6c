// SPDX-License-Identifier: Apache-2.0
// A file that this process makes, fills and lets grow, and that other processes read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "recorder/file_format.h"

namespace cuvmm::recorder {

/// The path of a section's file in this folder. A process gets the same path until it replaces its
/// program by exec.
std::string file_in(const std::string& folder, Section section);

/// The class keeps the file's name and no descriptor, because the program may close any descriptor
/// and get its number again.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() { close(); }

  /// Makes the file for this user alone, allocates the pages of its first bytes, and maps all of
  /// it. Returns an errno, or 0; EEXIST where the path exists. After an error no file is left.
  int create(const std::string& path, const Shape& shape, std::size_t first) noexcept;
  /// Writes into the header which process and which libcuda the file describes.
  void describe(const std::string& driver) noexcept;
  /// Makes the file valid for readers.
  void publish() noexcept;
  /// The mapped file, all 0 at first; null where no file is open. It begins with a FileHeader.
  void* memory() const noexcept { return memory_; }
  /// Allocates the pages of these bytes, which have none yet; false where the file system refuses.
  /// After a refusal grow() asks the system seldom: each time after twice as many calls.
  bool grow(std::size_t offset, std::size_t bytes) noexcept;
  /// Unmaps the file and leaves it in its folder.
  void close() noexcept;

 private:
  FileHeader& header() const noexcept { return *static_cast<FileHeader*>(memory_); }

  std::string path_;
  Shape shape_{};
  void* memory_ = nullptr;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t refused_ = 0;  // calls since the first refusal
};

/// Fills in the header of a file of this shape; its first moment is now. For a NewFile, and for
/// images in memory.
void begin_header(FileHeader& header, const Shape& shape) noexcept;
/// Sets the last known moment to now. Async-signal-safe.
void note_moment(FileHeader& header) noexcept;

}  // namespace cuvmm::recorder
