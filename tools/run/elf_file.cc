// SPDX-License-Identifier: Apache-2.0
#include "tools/run/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace cuvmm::tools {

namespace {

constexpr std::uint64_t kLargestTable = 64 << 20;  // bytes; a file with a larger table is refused

class File {
 public:
  explicit File(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status;
    if (fd_ >= 0 && fstat(fd_, &status) == 0 && S_ISREG(status.st_mode)) {
      size_ = static_cast<std::uint64_t>(status.st_size);
    }
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool read(std::uint64_t offset, void* to, std::uint64_t count) const {
    if (offset > size_ || count > size_ - offset) return false;
    return pread(fd_, to, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
  }
  template <class T>
  bool read_all(std::uint64_t offset, std::uint64_t count, std::vector<T>& to) const {
    if (count > kLargestTable / sizeof(T)) return false;
    to.resize(count);
    return read(offset, to.data(), count * sizeof(T));
  }

 private:
  int fd_;
  std::uint64_t size_ = 0;
};

std::string text_at(const std::vector<char>& table, std::uint64_t offset) {
  if (offset >= table.size()) return "";
  const char* begin = table.data() + offset;
  return {begin, strnlen(begin, table.size() - offset)};
}

struct Elf64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Dynamic = Elf64_Dyn;
};
struct Elf32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Dynamic = Elf32_Dyn;
};

template <class Format>
bool read_dynamic(const File& file, const std::vector<typename Format::Segment>& segments,
                  const typename Format::Segment& where, ElfFile& elf) {
  using Dynamic = typename Format::Dynamic;
  std::vector<Dynamic> entries;
  if (!file.read_all(where.p_offset, where.p_filesz / sizeof(Dynamic), entries)) return false;
  std::uint64_t table_address = 0, table_size = 0;
  for (const Dynamic& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) table_address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) table_size = entry.d_un.d_val;
  }
  std::vector<char> strings;
  for (const auto& segment : segments) {
    const std::uint64_t into = table_address - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || table_address < segment.p_vaddr || into >= segment.p_filesz) {
      continue;
    }
    if (!file.read_all(segment.p_offset + into, table_size, strings)) return false;
  }
  for (const Dynamic& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) elf.needed.push_back(text_at(strings, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) elf.soname = text_at(strings, entry.d_un.d_val);
  }
  const std::string_view all(strings.data(), strings.size());
  elf.address_sanitizer = all.find(std::string_view("\0__asan_init\0", 13)) != all.npos;
  return true;
}

// Looks only at functions that the file exports.
bool defines_cuda_function(const File& file) {
  Elf64_Ehdr header;
  std::vector<Elf64_Shdr> sections;
  if (!file.read(0, &header, sizeof header) || header.e_shentsize != sizeof(Elf64_Shdr) ||
      !file.read_all(header.e_shoff, header.e_shnum, sections))
    return false;
  for (const Elf64_Shdr& section : sections) {
    std::vector<Elf64_Sym> symbols;
    std::vector<char> names;
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    if (!file.read_all(section.sh_offset, section.sh_size / sizeof(Elf64_Sym), symbols) ||
        !file.read_all(strings.sh_offset, strings.sh_size, names))
      return false;
    for (const Elf64_Sym& symbol : symbols) {
      const bool defined =
          symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (!defined) continue;
      const std::string name = text_at(names, symbol.st_name);
      const std::size_t prefix = name.starts_with("cuda") ? 4 : 2;
      if (name.starts_with("cu") && name.size() > prefix && name[prefix] >= 'A' &&
          name[prefix] <= 'Z')
        return true;
    }
  }
  return false;
}

template <class Format>
bool read_headers(const File& file, ElfFile& elf) {
  typename Format::Header header;
  if (!file.read(0, &header, sizeof(header))) return false;
  elf.machine = header.e_machine;
  std::vector<typename Format::Segment> segments;
  if (header.e_phentsize != sizeof(typename Format::Segment)) return header.e_phnum == 0;
  if (!file.read_all(header.e_phoff, header.e_phnum, segments)) return false;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    std::vector<char> path;
    if (!file.read_all(segment.p_offset, segment.p_filesz, path)) return false;
    elf.interpreter = text_at(path, 0);
  }
  for (const auto& segment : segments) {
    if (segment.p_type == PT_DYNAMIC) return read_dynamic<Format>(file, segments, segment, elf);
  }
  return true;
}

}  // namespace

std::optional<ElfFile> read_elf(const std::string& path) {
  const File file(path);
  unsigned char ident[EI_NIDENT];
  if (!file.read(0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0) return {};
  // A big-endian file: this machine cannot run it, and this function cannot read its numbers.
  if (ident[EI_DATA] != ELFDATA2LSB) return {};
  ElfFile elf;
  elf.bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  const bool ok = elf.bits == 64 ? read_headers<Elf64>(file, elf) : read_headers<Elf32>(file, elf);
  return ok ? std::optional(elf) : std::nullopt;
}

bool between_program_and_driver(const std::string& path) {
  const std::optional<ElfFile> elf = read_elf(path);
  if (!elf || elf->bits != 64) return false;
  for (const char* itself : {"libcuda.so", "libcudart.so"}) {
    if (elf->soname.starts_with(itself)) return false;
  }
  return defines_cuda_function(File(path));
}

std::string machine_name(const ElfFile& elf) {
  switch (elf.machine) {
    case EM_X86_64:
      return elf.bits == 64 ? "x86-64" : "x32";
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
      return "AArch64";
    case EM_ARM:
      return "32-bit Arm";
    default:
      return "machine " + std::to_string(elf.machine);
  }
}

}  // namespace cuvmm::tools
