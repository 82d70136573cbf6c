// SPDX-License-Identifier: Apache-2.0
// For libgcc's unwinder: glibc 2.35's _dl_find_object.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

// Uses the running glibc's function where it exists, because that takes no lock.
typedef int FindObject(void* address, struct dl_find_object* result);
static _Atomic(FindObject*) g_own;

__attribute__((constructor)) static void look_for_own(void) {
  FindObject* own = NULL;
  *(void**)&own = dlsym(RTLD_DEFAULT, "_dl_find_object");
  if (!own) dlerror();  // so that no other code gets the error
  atomic_store_explicit(&g_own, own, memory_order_release);
}

struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int search_object(struct dl_phdr_info* info, size_t size, void* context) {
  (void)size;
  const struct search* const search = context;
  uintptr_t start = UINTPTR_MAX, end = 0, frames = 0;
  int inside = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    const uintptr_t first = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = first;
    if (part->p_type != PT_LOAD) continue;
    const uintptr_t last = first + part->p_memsz;
    if (first < start) start = first;
    if (last > end) end = last;
    if (search->address >= first && search->address < last) inside = 1;
  }
  if (!inside) return 0;
  if (frames == 0) return -1;
  search->result->dlfo_flags = 0;
  search->result->dlfo_map_start = (void*)start;
  search->result->dlfo_map_end = (void*)end;
  search->result->dlfo_link_map = NULL;
  search->result->dlfo_eh_frame = (void*)frames;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  FindObject* const own = atomic_load_explicit(&g_own, memory_order_acquire);
  if (own) return own(address, result);
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(search_object, &search) == 1 ? 0 : -1;
}
