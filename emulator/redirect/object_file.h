// SPDX-License-Identifier: Apache-2.0
// The file of an object that the loader mapped: its table of symbols, which no segment holds, and
// the bytes of its code as the linker wrote them.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace cuvmm::redirect {

class ObjectFile {
 public:
  /// Maps the file of `object`. Empty where the file cannot be read, has no table of symbols
  /// (strip removes it), or is not the file that the object was loaded from.
  explicit ObjectFile(const link_map& object);
  ~ObjectFile();
  ObjectFile(const ObjectFile&) = delete;
  ObjectFile& operator=(const ObjectFile&) = delete;

  std::size_t symbol_count() const { return symbol_count_; }
  /// A symbol, if it is a function that the file defines and whose name is whole; else null.
  const Elf64_Sym* function(std::size_t index) const;
  /// The name of a symbol that function() returned.
  const char* name(const Elf64_Sym& symbol) const { return names_ + symbol.st_name; }
  /// The bytes of the symbol's section from the symbol on; `size` receives their number. Null for a
  /// section that does not hold code.
  const unsigned char* code(const Elf64_Sym& symbol, std::size_t& size) const;

 private:
  bool inside(std::uint64_t offset, std::uint64_t size) const {
    return offset <= size_ && size <= size_ - offset;
  }
  bool read_headers(const link_map& object);
  void find_symbols();

  const unsigned char* bytes_ = nullptr;
  std::uint64_t size_ = 0;
  const Elf64_Shdr* sections_ = nullptr;
  std::size_t section_count_ = 0;
  const Elf64_Sym* symbols_ = nullptr;
  std::size_t symbol_count_ = 0;
  const char* names_ = nullptr;
  std::uint64_t names_size_ = 0;
};

}  // namespace cuvmm::redirect
