// SPDX-License-Identifier: Apache-2.0
#include "emulator/redirect/exports.h"

#include <cstdint>

#include "emulator/redirect/system.h"

namespace cuvmm::redirect {

Exports::Exports(const link_map& object) : base_(object.l_addr) {
  // glibc's loader has added the base to these addresses.
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_GNU_HASH) hash_ = reinterpret_cast<std::uint32_t*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
}

// A table of DT_GNU_HASH: four numbers, a filter, the first symbol of each bucket, then a word for
// each symbol: its hash, whose lowest bit marks the last symbol of a bucket.
const ElfW(Sym) * Exports::symbol(const char* name) const {
  if (!hash_ || !symbols_ || !names_) return nullptr;
  std::uint32_t hash = 5381;
  for (const char* c = name; *c; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  const std::uint32_t bucket_count = hash_[0], first = hash_[1], filter_words = hash_[2];
  if (bucket_count == 0) return nullptr;
  constexpr std::size_t kHeader = 4, kFilterWord = 2;
  const std::uint32_t* const buckets = hash_ + kHeader + kFilterWord * filter_words;
  const std::uint32_t* const chain = buckets + bucket_count;
  for (std::uint32_t i = buckets[hash % bucket_count]; i >= first && i != 0; ++i) {
    const std::uint32_t word = chain[i - first];
    const ElfW(Sym)& symbol = symbols_[i];
    if ((word | 1U) == (hash | 1U) && symbol.st_shndx != SHN_UNDEF &&
        equal(names_ + symbol.st_name, name))
      return &symbol;
    if ((word & 1U) != 0) break;
  }
  return nullptr;
}

const void* Exports::find(const char* name) const {
  const ElfW(Sym)* const found = symbol(name);
  return found ? reinterpret_cast<const void*>(base_ + found->st_value) : nullptr;
}

}  // namespace cuvmm::redirect
