// SPDX-License-Identifier: Apache-2.0
// A cubin: an ELF file with a section for each kernel.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "kernels/image/device_code.h"

namespace cuvmm::kernels {

namespace {

constexpr Elf64_Half kMachine = 190;  // EM_CUDA
constexpr unsigned char kOldAbi = 7;  // the ABI up to CUDA 12: the architecture is the lowest byte
constexpr std::string_view kConstants = ".nv.constant3";
// In st_other: a kernel, not a function that code calls.
constexpr unsigned char kEntryPoint = 0x10;
// The first byte of a record of .nv.info with a size, and the subjects of records that are read.
constexpr std::uint8_t kSized = 4, kRegisterCount = 0x2f, kFrameSize = 0x11, kParameter = 0x17;
// From compute capability 9.0 on, the driver reserves this many bytes of each block's shared
// memory.
constexpr int kReservedShared = 1 << 10;

/// The ELF file; every read is checked to lie inside it.
class Elf {
 public:
  explicit Elf(const CodeBytes& file) : file_(file) {}

  bool open() {
    if (!file_.inside(0, sizeof header_)) return false;
    header_ = file_.at<Elf64_Ehdr>(0);
    const std::size_t table = std::size_t{header_.e_shnum} * sizeof(Elf64_Shdr);
    const bool known = header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_machine == kMachine &&
                       header_.e_shentsize == sizeof(Elf64_Shdr) &&
                       header_.e_shstrndx < header_.e_shnum && file_.inside(header_.e_shoff, table);
    if (known) names_ = contents(section(header_.e_shstrndx));
    return known;
  }

  int architecture() const {
    const bool old = header_.e_ident[EI_ABIVERSION] <= kOldAbi;
    return static_cast<int>(old ? header_.e_flags & 0xff : header_.e_flags >> 8 & 0xff);
  }

  std::size_t sections() const { return header_.e_shnum; }
  Elf64_Shdr section(std::size_t index) const {
    if (index >= header_.e_shnum) return {};
    return file_.at<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr));
  }
  /// The bytes of a section; empty for a section without bytes in the file.
  std::string_view contents(const Elf64_Shdr& section) const {
    return contents(section, 0, section.sh_size);
  }
  /// The bytes of a section from `at` on that are in the file; empty where none is.
  std::string_view contents(const Elf64_Shdr& section, std::uint64_t at, std::uint64_t size) const {
    if (section.sh_type == SHT_NOBITS || at >= section.sh_size) return {};
    size = std::min(size, section.sh_size - at);
    if (section.sh_offset > UINT64_MAX - at || !file_.inside(section.sh_offset + at, size)) {
      return {};
    }
    return file_.part(section.sh_offset + at, size);
  }
  std::string_view name(const Elf64_Shdr& of) const { return text_at(names_, of.sh_name); }
  static std::string_view text_at(std::string_view strings, std::size_t at) {
    if (at >= strings.size()) return {};
    return strings.substr(at, strings.substr(at).find('\0'));
  }

 private:
  CodeBytes file_;
  Elf64_Ehdr header_{};
  std::string_view names_;  ///< names of sections
};

// Runs body(subject, bytes) for each record with a size.
template <class Body>
void for_each_record(std::string_view records, Body&& body) {
  constexpr std::size_t kHead = 4;
  for (std::size_t i = 0; i + kHead <= records.size();) {
    std::uint16_t size = 0;
    std::memcpy(&size, &records[i + 2], sizeof size);
    if (static_cast<std::uint8_t>(records[i]) != kSized) size = 0;
    if (size > records.size() - i - kHead) return;
    if (size != 0) body(static_cast<std::uint8_t>(records[i + 1]), records.substr(i + kHead, size));
    i += kHead + size;
  }
}

// The number that records of this subject give, by the kernel's symbol.
std::map<std::uint32_t, int> numbers(std::string_view records, std::uint8_t subject) {
  std::map<std::uint32_t, int> found;
  for_each_record(records, [&](std::uint8_t what, std::string_view bytes) {
    std::uint32_t pair[2];
    if (what != subject || bytes.size() != sizeof pair) return;
    std::memcpy(pair, bytes.data(), sizeof pair);
    found[pair[0]] = static_cast<int>(pair[1]);
  });
  return found;
}

// The parameters of a kernel in order; the records have another order.
std::vector<Parameter> parameters(std::string_view records) {
  std::map<std::uint16_t, Parameter> found;
  for_each_record(records, [&](std::uint8_t what, std::string_view bytes) {
    struct Record {
      std::uint32_t index;
      std::uint16_t ordinal, offset;
      std::uint32_t flags;
    } record;
    constexpr unsigned kSizeAt = 18;  // the bit of `flags` at which the size begins
    if (what != kParameter || bytes.size() != sizeof record) return;
    std::memcpy(&record, bytes.data(), sizeof record);
    found[record.ordinal] = {record.offset, record.flags >> kSizeAt};
  });
  std::vector<Parameter> all;
  for (const auto& [ordinal, parameter] : found) all.push_back(parameter);
  return all;
}

struct Parts {
  std::string_view symbols, strings;
  std::map<std::uint32_t, int> registers, frames;
  int constant_bytes = 0;
  std::map<std::string, int, std::less<>> shared;  // by kernel, like the next maps
  std::map<std::string, std::vector<Parameter>, std::less<>> parameters;
};

Parts find_parts(const Elf& elf) {
  Parts parts;
  constexpr std::string_view kShared = ".nv.shared.", kInfo = ".nv.info.";
  for (std::size_t i = 0; i < elf.sections(); ++i) {
    const Elf64_Shdr section = elf.section(i);
    const std::string_view name = elf.name(section);
    if (section.sh_type == SHT_SYMTAB) {
      parts.symbols = elf.contents(section);
      parts.strings = elf.contents(elf.section(section.sh_link));
    } else if (name == ".nv.info") {
      parts.registers = numbers(elf.contents(section), kRegisterCount);
      parts.frames = numbers(elf.contents(section), kFrameSize);
    } else if (name == kConstants) {
      parts.constant_bytes = static_cast<int>(section.sh_size);
    } else if (name.starts_with(kInfo)) {
      parts.parameters.emplace(name.substr(kInfo.size()), parameters(elf.contents(section)));
    } else if (name.starts_with(kShared)) {
      parts.shared.emplace(name.substr(kShared.size()), static_cast<int>(section.sh_size));
    }
  }
  return parts;
}

void add_variable(const Elf& elf, const Elf64_Sym& symbol, std::string_view name,
                  DeviceCode& code) {
  const Elf64_Shdr home = elf.section(symbol.st_shndx);
  const std::string_view section = elf.name(home);
  const bool constant = section == kConstants;
  if (!constant && section != ".nv.global" && section != ".nv.global.init") return;
  VariableCode variable{std::string(name), symbol.st_size, {}, constant};
  variable.contents = elf.contents(home, symbol.st_value, symbol.st_size);
  code.variables.push_back(std::move(variable));
}

}  // namespace

CUresult read_cubin(const CodeBytes& image, Capability gpu, DeviceCode& code) {
  Elf elf(image);
  if (!elf.open()) return CUDA_ERROR_INVALID_IMAGE;
  const int architecture = elf.architecture();
  if (architecture / 10 != gpu.major || architecture % 10 > gpu.minor) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  const Parts parts = find_parts(elf);
  const bool has_reserved = parts.strings.find(".nv.reservedSmem") != std::string_view::npos;
  const int reserved = has_reserved ? kReservedShared : 0;
  for (std::uint32_t i = 0; (i + std::size_t{1}) * sizeof(Elf64_Sym) <= parts.symbols.size(); ++i) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, &parts.symbols[i * sizeof symbol], sizeof symbol);
    const std::string_view name = Elf::text_at(parts.strings, symbol.st_name);
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC && (symbol.st_other & kEntryPoint) && symbol.st_shndx != SHN_UNDEF) {
      KernelCode kernel{.name = std::string(name)};
      kernel.parameters.emplace();
      if (const auto known = parts.registers.find(i); known != parts.registers.end()) {
        kernel.registers = known->second;
      }
      if (const auto known = parts.frames.find(i); known != parts.frames.end()) {
        kernel.local_bytes = known->second;
      }
      kernel.constant_bytes = parts.constant_bytes;
      if (const auto known = parts.shared.find(name); known != parts.shared.end()) {
        kernel.shared_bytes = known->second - reserved;
      }
      if (const auto known = parts.parameters.find(name); known != parts.parameters.end()) {
        kernel.parameters = known->second;
      }
      code.kernels.push_back(std::move(kernel));
    } else if (type == STT_OBJECT && symbol.st_shndx != SHN_UNDEF) {
      add_variable(elf, symbol, name, code);
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::kernels
