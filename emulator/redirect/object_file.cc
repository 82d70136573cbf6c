// SPDX-License-Identifier: Apache-2.0
#include "emulator/redirect/object_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "emulator/redirect/system.h"

namespace cuvmm::redirect {

ObjectFile::ObjectFile(const link_map& object) {
  // The loader gives the program itself no name.
  const char* const path = *object.l_name ? object.l_name : "/proc/self/exe";
  const long fd = system_call(SYS_open, word(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  struct stat status;
  if (system_call(SYS_fstat, fd, word(&status)) == 0 && S_ISREG(status.st_mode) &&
      status.st_size >= static_cast<off_t>(sizeof(Elf64_Ehdr))) {
    const long at = system_call(SYS_mmap, 0, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at > 0) {
      bytes_ = reinterpret_cast<const unsigned char*>(at);
      size_ = static_cast<std::uint64_t>(status.st_size);
    }
  }
  system_call(SYS_close, fd);
  if (bytes_ && read_headers(object)) find_symbols();
}

ObjectFile::~ObjectFile() {
  if (bytes_) system_call(SYS_munmap, word(bytes_), static_cast<long>(size_));
}

// The address of the dynamic section shows whether the file is the one that the object came from.
bool ObjectFile::read_headers(const link_map& object) {
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(bytes_);
  if (header.e_ident[EI_MAG0] != ELFMAG0 || header.e_ident[EI_MAG1] != ELFMAG1 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_phoff % alignof(Elf64_Phdr) != 0 || header.e_shoff % alignof(Elf64_Shdr) != 0 ||
      !inside(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)) ||
      !inside(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)))
    return false;
  const auto* const segments = reinterpret_cast<const Elf64_Phdr*>(bytes_ + header.e_phoff);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    if (segments[i].p_type != PT_DYNAMIC) continue;
    sections_ = reinterpret_cast<const Elf64_Shdr*>(bytes_ + header.e_shoff);
    section_count_ = header.e_shnum;
    return object.l_addr + segments[i].p_vaddr == reinterpret_cast<std::uint64_t>(object.l_ld);
  }
  return false;
}

void ObjectFile::find_symbols() {
  for (std::size_t i = 0; i < section_count_; ++i) {
    const Elf64_Shdr& table = sections_[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= section_count_) continue;
    const Elf64_Shdr& names = sections_[table.sh_link];
    if (names.sh_type != SHT_STRTAB || table.sh_offset % alignof(Elf64_Sym) != 0 ||
        !inside(table.sh_offset, table.sh_size) || !inside(names.sh_offset, names.sh_size) ||
        names.sh_size == 0 || bytes_[names.sh_offset + names.sh_size - 1] != 0)
      return;
    symbols_ = reinterpret_cast<const Elf64_Sym*>(bytes_ + table.sh_offset);
    symbol_count_ = table.sh_size / sizeof(Elf64_Sym);
    names_ = reinterpret_cast<const char*>(bytes_ + names.sh_offset);
    names_size_ = names.sh_size;
    return;
  }
}

const Elf64_Sym* ObjectFile::function(std::size_t index) const {
  const Elf64_Sym& symbol = symbols_[index];
  const bool is = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
                  symbol.st_shndx < section_count_ && symbol.st_name < names_size_;
  return is ? &symbol : nullptr;
}

const unsigned char* ObjectFile::code(const Elf64_Sym& symbol, std::size_t& size) const {
  const Elf64_Shdr& section = sections_[symbol.st_shndx];
  const std::uint64_t into = symbol.st_value - section.sh_addr;
  if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_EXECINSTR) == 0 ||
      symbol.st_value < section.sh_addr || into >= section.sh_size ||
      !inside(section.sh_offset, section.sh_size))
    return nullptr;
  size = section.sh_size - into;
  return bytes_ + section.sh_offset + into;
}

}  // namespace cuvmm::redirect
