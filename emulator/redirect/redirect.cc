// SPDX-License-Identifier: Apache-2.0
#include "emulator/redirect/redirect.h"

#include <cstdint>

#include "emulator/redirect/code.h"
#include "emulator/redirect/object_file.h"
#include "emulator/redirect/system.h"

namespace cuvmm::redirect {

namespace {

// NVIDIA's static library gives this prefix to its internal functions, and all its code is in one
// object file. So an object without such a name has functions of the runtime's names by itself.
constexpr char kInternal[] = "libcudart_static_";
// CUDA 11 lacks it, as CUDA 13 does.
constexpr char kSince12[] = "cudaGetDeviceProperties_v2";

bool public_name(const char* name) {
  // nvcc writes these into the program itself. They call the runtime.
  if (starts_with(name, "__cudaRegisterLinkedBinary_")) return false;
  if (equal(name, "__cudaUnregisterBinaryUtil")) return false;
  if (starts_with(name, "__")) name += 2;
  constexpr std::size_t kPrefix = 4;
  return starts_with(name, "cuda") && name[kPrefix] >= 'A' && name[kPrefix] <= 'Z';
}

/// The symbol table's answers about a runtime in the object.
struct Found {
  bool internal = false, since_12 = false;
  int only[2] = {};  ///< names that one version alone has
  /// Where the code of the public functions lies.
  std::uint64_t first = ~std::uint64_t{0}, last = 0;

  int version() const { return only[k12] > only[k13] ? k12 : k13; }
  // A CUDA runtime before 12 has other structures.
  bool usable() const { return internal && last != 0 && (version() == k13 || since_12); }
};

Found look(const ObjectFile& file, const Runtimes& runtimes) {
  Found found;
  for (std::size_t i = 0; i < file.symbol_count(); ++i) {
    const Elf64_Sym* const symbol = file.function(i);
    if (!symbol) continue;
    const char* const name = file.name(*symbol);
    if (*name == kInternal[0] && starts_with(name, kInternal)) found.internal = true;
    if (!public_name(name)) continue;
    const bool in_12 = runtimes.of[k12].find(name), in_13 = runtimes.of[k13].find(name);
    if (!in_12 && !in_13) continue;
    if (in_12 != in_13) ++found.only[in_13 ? k13 : k12];
    if (equal(name, kSince12)) found.since_12 = true;
    if (symbol->st_value < found.first) found.first = symbol->st_value;
    if (symbol->st_value > found.last) found.last = symbol->st_value;
  }
  return found;
}

// A copy of a name, because the file's names are only mapped for a while.
const char* lasting(const char* name) {
  static char names[8192];
  static std::size_t used = 0;
  std::size_t size = 0;
  while (name[size]) ++size;
  if (size >= sizeof names - used) return "a function of the CUDA runtime";
  char* const copy = names + used;
  for (std::size_t i = 0; i <= size; ++i) copy[i] = name[i];
  used += size + 1;
  return copy;
}

/// The change of one object's code.
class Change {
 public:
  Change(const link_map& object, const ObjectFile& file, const Runtimes& runtimes,
         const Found& found)
      : object_(object), file_(file), runtime_(runtimes.of[found.version()]), found_(found) {}

  // Short functions come last, because they jump to room in long ones, which no code enters
  // any more.
  void run() {
    constexpr bool kShort[] = {false, true};
    for (const bool is_short : kShort) {
      for (std::size_t i = 0; i < file_.symbol_count(); ++i) {
        const Elf64_Sym* const symbol = file_.function(i);
        if (symbol && public_name(file_.name(*symbol))) handle(*symbol, is_short);
      }
    }
    complain_about_rest();
  }

 private:
  void handle(const Elf64_Sym& symbol, bool is_short) {
    const char* const name = file_.name(symbol);
    const void* const target = runtime_.find(name);
    // Another function of such a name may be the program's own.
    const bool inside = symbol.st_value >= found_.first && symbol.st_value <= found_.last;
    if (!target && !inside) return;
    std::size_t left = 0;
    const unsigned char* const code = file_.code(symbol, left);
    if (!code) return;
    const std::size_t mark = branch_mark(code, left);
    const std::size_t size = symbol.st_size < left ? symbol.st_size : left;
    // The next function may begin with nops of its own, but at a multiple of 16 bytes.
    constexpr std::size_t kAlign = 16;
    const std::size_t to_next = (kAlign - (symbol.st_value + size) % kAlign) % kAlign;
    const std::size_t behind = left - size < to_next ? left - size : to_next;
    const std::size_t room = size + padding(code + size, behind) - (mark < size ? mark : 0);
    const std::size_t needed = target ? kFarJump : kFarJump + kArgument;
    if (is_short != (room < needed)) return;
    const std::uint64_t at = object_.l_addr + symbol.st_value + mark;
    const auto* const memory = reinterpret_cast<const unsigned char*>(at);
    if (!same_bytes(memory, code + mark, room < needed ? kNearJump : needed)) {
      if (!is_redirected(memory)) fail(name);  // a debugger's breakpoint, for one
      return;
    }
    if (!target) names_unknown_ = lasting(name);
    if (!is_short) {
      if (!write(at, piece(target))) return fail(name);
      if (size > mark + needed && size - mark - needed > end_ - free_)
        free_ = at + needed, end_ = at + size - mark;
      return;
    }
    if (room < kNearJump || end_ - free_ < needed || !write(free_, piece(target)) ||
        !write(at, Piece().near_jump(at, free_)))
      return fail(name);
    free_ += needed;
  }

  Piece piece(const void* target) const {
    Piece piece;
    if (target) return piece.far_jump(target);
    return piece.argument(names_unknown_).far_jump(runtime_.find(kNotSupported));
  }

  bool write(std::uint64_t at, const Piece& piece) {
    refused_ = !writer_.write(at, piece);
    return !refused_;
  }

  static bool is_redirected(const unsigned char* memory) {
    return (memory[0] == 0xff && memory[1] == 0x25) || memory[0] == 0xe9 ||
           (memory[0] == 0x48 && memory[1] == 0xbf);
  }

  void fail(const char* name) {
    if (!failed_) failed_ = name;
  }

  void complain_about_rest() const {
    if (!failed_) return;
    complain(*object_.l_name ? object_.l_name : "this program",
             " contains NVIDIA's CUDA runtime, which works with a real driver only; the emulator "
             "could not replace its ",
             failed_,
             refused_ ? ", because this system does not let a program change its code"
                      : ", because its code is not as in the file");
  }

  static constexpr std::size_t kArgument = 10;
  const link_map& object_;
  const ObjectFile& file_;
  const Exports& runtime_;
  const Found& found_;
  CodeWriter writer_;
  std::uint64_t free_ = 0, end_ = 0;  ///< room in a long function that is replaced
  const char* names_unknown_ = nullptr;
  const char* failed_ = nullptr;
  bool refused_ = false;
};

}  // namespace

void redirect(const link_map& object, const Runtimes& runtimes) {
  const ObjectFile file(object);
  const Found found = look(file, runtimes);
  if (found.usable()) Change(object, file, runtimes, found).run();
}

}  // namespace cuvmm::redirect
