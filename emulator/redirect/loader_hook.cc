// SPDX-License-Identifier: Apache-2.0
// Where the library begins its work: the loader tells debuggers of each change in its list of
// objects by a call of an empty function (r_brk in <link.h>), after it has mapped new objects and
// before it runs their constructors. This library replaces that function. It does so while the
// loader relocates it, which is before the first constructor of any object.
#include <link.h>

#include "emulator/redirect/code.h"
#include "emulator/redirect/redirect.h"
#include "emulator/redirect/system.h"

// Other C libraries have no such symbol.
// NOLINTNEXTLINE(readability-redundant-declaration): link.h declares it without the attribute
extern struct r_debug _r_debug __attribute__((weak));

namespace cuvmm::redirect {

namespace {

struct Seen {
  const link_map* object;
  ElfW(Addr) base;
  const ElfW(Dyn) * dynamic;
  bool is(const link_map& other) const {
    return object == &other && base == other.l_addr && dynamic == other.l_ld;
  }
};

// The objects at the last call. Objects beyond the table are handled anew in each call, which
// changes nothing. The loader calls under its lock.
constexpr std::size_t kMost = 4096;
Seen g_seen[kMost];
std::size_t g_count = 0;

bool was_seen(const link_map& object, std::size_t near) {
  if (near < g_count && g_seen[near].is(object)) return true;
  for (std::size_t i = 0; i < g_count; ++i) {
    if (g_seen[i].is(object)) return true;
  }
  return false;
}

Runtimes find_runtimes(const link_map* objects) {
  Runtimes runtimes;
  bool present[2] = {};
  for (; objects; objects = objects->l_next) {
    const char* const name = file_name(objects->l_name);
    const bool is_12 = equal(name, "libcudart.so.12"), is_13 = equal(name, "libcudart.so.13");
    if (!is_12 && !is_13) continue;
    const Exports exports(*objects);
    if (!exports.find(kNotSupported)) continue;  // NVIDIA's
    runtimes.of[is_13] = exports;
    present[is_13] = true;
  }
  runtimes.present = present[k12] && present[k13];
  return runtimes;
}

void look_at_objects() {
  Runtimes runtimes;
  bool looked = false;
  std::size_t position = 0;
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next, ++position) {
    if (was_seen(*object, position) || starts_with(file_name(object->l_name), "libcuvmm")) continue;
    if (!looked) runtimes = find_runtimes(_r_debug.r_map);
    looked = true;
    if (runtimes.present) redirect(*object, runtimes);
  }
  g_count = 0;
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
    if (g_count < kMost) g_seen[g_count++] = {object, object->l_addr, object->l_ld};
  }
}

// In the place of the loader's empty function.
void at_change() {
  if (_r_debug.r_state == r_debug::RT_CONSISTENT) look_at_objects();
}

// Leaves a function alone that is not empty, or holds a debugger's breakpoint. The loader calls the
// function directly, so its branch mark may go.
void replace_loader_function() {
  const auto* const code = reinterpret_cast<const unsigned char*>(_r_debug.r_brk);
  if (!code) return;
  constexpr unsigned char kReturn = 0xc3;
  const std::size_t mark = branch_mark(code, kFarJump);
  if (code[mark] != kReturn) return;
  const std::size_t empty = mark + 1;
  if (empty + padding(code + empty, 2 * kFarJump) < kFarJump) return;
  CodeWriter().write(reinterpret_cast<std::uint64_t>(code),
                     Piece().far_jump(reinterpret_cast<const void*>(at_change)));
}

}  // namespace

}  // namespace cuvmm::redirect

extern "C" {

static void nothing() {}
// The loader calls the resolver of an indirect function when it relocates the object.
void (*cuvmm_resolve_early())() {
  if (&_r_debug) cuvmm::redirect::replace_loader_function();
  return nothing;
}
void cuvmm_early() __attribute__((ifunc("cuvmm_resolve_early")));
__attribute__((used)) static void (*volatile keep_early)() = cuvmm_early;

// If the loader's function could not be replaced, the program's own functions still are.
__attribute__((constructor)) static void at_load() {
  if (&_r_debug) cuvmm::redirect::look_at_objects();
}
}
