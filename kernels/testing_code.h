// SPDX-License-Identifier: Apache-2.0
// Device code for tests: no kernel of it could run, but it describes itself as a compiler's does.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::kernels::testing {

inline constexpr const char* kPtx = R"(
// .visible .entry commented_out()
.version 9.0
.target sm_90
.address_size 64

.global .align 4 .u32 counter = 7;
.global .align 4 .b8 table[400];
.const .align 16 .v4 .f32 pairs[2][3] = {1, 2, 3, 4};
.extern .func (.param .b32 status) vprintf (.param .b64 format);
/* .entry this_one_too() */
.visible .entry add(
	.param .u64 add_param_0
)
.maxntid 128, 1, 1
{
	.shared .align 4 .b8 inner[256];
	{ .reg .b32 %r<2>; }
	ret;
}
.func helper()
{ ret; }
	.entry _Z5otherPi(.param .u64 p)
{
	ret;
}
)";

/// A cubin with the kernel `add` of 24 registers, 256 bytes of shared memory and two parameters (of
/// 8 bytes, then of 4), a function that is no kernel, `counter`, whose initial value is 7, and
/// `table` of 400 zeros.
struct Cubin {
  unsigned architecture = 90;
  unsigned char abi = 8;

  std::string bytes() const {
    std::string names(1, '\0'), symbol_names(1, '\0'), body;
    std::vector<Elf64_Shdr> sections(1);
    const auto add_name = [](std::string& table, std::string_view name) {
      const auto at = static_cast<std::uint32_t>(table.size());
      table.append(name).push_back('\0');
      return at;
    };
    const auto add_section = [&](std::string_view name, std::uint32_t type, std::string_view bytes,
                                 std::size_t size, std::uint32_t link = 0) {
      Elf64_Shdr section{};
      section.sh_name = add_name(names, name);
      section.sh_type = type;
      section.sh_offset = sizeof(Elf64_Ehdr) + body.size();
      section.sh_size = size;
      section.sh_link = link;
      body.append(bytes);
      sections.push_back(section);
      return static_cast<std::uint16_t>(sections.size() - 1);
    };
    std::string symbols(sizeof(Elf64_Sym), '\0');
    const auto add_symbol = [&](std::string_view name, int type, unsigned char other,
                                std::uint16_t section, std::size_t size) {
      Elf64_Sym symbol{};
      symbol.st_name = add_name(symbol_names, name);
      symbol.st_info = static_cast<unsigned char>(type);
      symbol.st_other = other;
      symbol.st_shndx = section;
      symbol.st_size = size;
      symbols.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    };
    const auto text = add_section(".text.add", SHT_PROGBITS, "code", 4);
    const auto set = add_section(".nv.global.init", SHT_PROGBITS, {"\7\0\0\0", 4}, 4);
    const auto zero = add_section(".nv.global", SHT_NOBITS, "", 400);
    // Includes the bytes that the driver reserves.
    add_section(".nv.shared.add", SHT_NOBITS, "", 1024 + 256);
    add_section(".nv.constant3", SHT_PROGBITS, "constant", 8);
    // Records of symbol 2: 24 registers, a frame of 40 bytes.
    constexpr char kInfo[] = "\4\x2f\10\0\2\0\0\0\30\0\0\0\4\x11\10\0\2\0\0\0\50\0\0\0";
    add_section(".nv.info", SHT_PROGBITS, {kInfo, sizeof kInfo - 1}, sizeof kInfo - 1);
    constexpr char kParameters[] =
        "\4\x17\14\0\0\0\0\0\1\0\10\0\0\xf0\x11\0\3\x1b\xff\0\4\x17\14\0\0\0\0\0\0\0\0\0\0\xf0\x21"
        "\0";
    add_section(".nv.info.add", SHT_PROGBITS, {kParameters, sizeof kParameters - 1},
                sizeof kParameters - 1);
    add_symbol("helper", STT_FUNC, 0, text, 4);
    add_symbol("add", STT_FUNC, 0x10, text, 4);
    add_symbol("counter", STT_OBJECT, 0, set, 4);
    add_symbol("table", STT_OBJECT, 0, zero, 400);
    add_symbol(".nv.reservedSmem.offset0", STT_OBJECT, 0, SHN_UNDEF, 4);
    const auto strings = add_section(".strtab", SHT_STRTAB, symbol_names, symbol_names.size());
    add_section(".symtab", SHT_SYMTAB, symbols, symbols.size(), strings);
    const std::size_t all = names.size() + sizeof ".shstrtab";
    std::string padded = names;
    padded.append(".shstrtab").push_back('\0');
    const auto own = add_section(".shstrtab", SHT_STRTAB, padded, all);
    return head(own, sections.size(), body.size()) + body + table(sections);
  }

 private:
  std::string head(std::uint16_t names, std::size_t sections, std::size_t body) const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_ABIVERSION] = abi;
    header.e_machine = 190;
    header.e_flags = abi <= 7 ? architecture : architecture << 8;
    header.e_shoff = sizeof header + body;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(sections);
    header.e_shstrndx = names;
    return {reinterpret_cast<const char*>(&header), sizeof header};
  }
  static std::string table(const std::vector<Elf64_Shdr>& sections) {
    return {reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof(Elf64_Shdr)};
  }
};

struct FatEntry {
  std::uint16_t kind;  ///< 1: PTX, 2: a cubin
  std::uint32_t architecture;
  std::string bytes;
  std::uint64_t unpacked = 0;  ///< bytes before the compression; 0: not compressed
  std::uint32_t packed = 0;    ///< the number of compressed bytes, if compressed
  std::uint64_t flags = 0;     ///< the kind of compression
};

inline std::string fat_binary(const std::vector<FatEntry>& entries) {
  std::string body;
  const auto put = [](std::string& to, std::size_t at, auto value) {
    std::memcpy(&to[at], &value, sizeof value);
  };
  for (const FatEntry& entry : entries) {
    constexpr std::uint32_t kHeader = 64;
    std::string head(kHeader, '\0');
    put(head, 0, entry.kind);
    put(head, 4, kHeader);
    put(head, 8, std::uint64_t{entry.bytes.size()});
    put(head, 16, entry.packed);
    put(head, 28, entry.architecture);
    put(head, 40, entry.flags);
    put(head, 56, entry.unpacked);
    body += head + entry.bytes;
  }
  std::string whole(16, '\0');
  put(whole, 0, std::uint32_t{0xba55ed50});
  put(whole, 4, std::uint16_t{1});
  put(whole, 6, std::uint16_t{16});
  put(whole, 8, std::uint64_t{body.size()});
  return whole + body;
}

}  // namespace cuvmm::kernels::testing
