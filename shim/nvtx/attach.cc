// SPDX-License-Identifier: Apache-2.0
#include "shim/nvtx/attach.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <string>

#include "shim/nvtx/memory.h"
#include "shim/nvtx/names.h"
#include "shim/nvtx/ranges.h"

namespace cuvmm::shim::nvtx {

namespace {

/// Runs `work`, which may need memory, so that the program notices nothing of it.
template <class Work>
void aside(const Work& work) noexcept {
  const int program_errno = errno;
  try {
    work();
  } catch (...) {
    // Without memory only the names are missing.
  }
  errno = program_errno;
}

// The functions of another tool. The tool has one set of functions, whichever copy of NVTX calls
// them.
std::atomic<Function> g_next_core[kRangePop + 1];
std::atomic<Function> g_next_core2[kDomainCreateW + 1];
std::atomic<std::intptr_t> g_next_memory[kRegionsName + 1];

template <class Type>
Type* next_core(Core function) {
  return reinterpret_cast<Type*>(g_next_core[function].load(std::memory_order_relaxed));
}

template <class Type>
Type* next_core2(Core2 function) {
  return reinterpret_cast<Type*>(g_next_core2[function].load(std::memory_order_relaxed));
}

// --- Ranges

int push_ex(const EventAttributes* attributes) {
  int level = -1;
  aside([&] {
    std::string buffer;
    level = push_range(nullptr, message_text(attributes, buffer));
  });
  auto* const next = next_core<int(const EventAttributes*)>(kRangePushEx);
  return next ? next(attributes) : level;
}

int push_ascii(const char* name) {
  const int level = push_range(nullptr, bounded(name));
  auto* const next = next_core<int(const char*)>(kRangePushA);
  return next ? next(name) : level;
}

int push_wide(const wchar_t* name) {
  int level = -1;
  aside([&] { level = push_range(nullptr, narrow(name)); });
  auto* const next = next_core<int(const wchar_t*)>(kRangePushW);
  return next ? next(name) : level;
}

int pop() {
  const int level = pop_range(nullptr);
  auto* const next = next_core<int()>(kRangePop);
  return next ? next() : level;
}

int domain_push(const void* domain, const EventAttributes* attributes) {
  int level = -1;
  aside([&] {
    std::string buffer;
    level = push_range(domain, message_text(attributes, buffer));
  });
  auto* const next = next_core2<int(const void*, const EventAttributes*)>(kDomainRangePushEx);
  return next ? next(domain, attributes) : level;
}

int domain_pop(const void* domain) {
  const int level = pop_range(domain);
  auto* const next = next_core2<int(const void*)>(kDomainRangePop);
  return next ? next(domain) : level;
}

// A started range has the other tool's number, if there is another tool.
template <class Next>
std::uint64_t start(const void* domain, std::string_view name, bool other, const Next& next) {
  std::uint64_t id = other ? next() : 0;
  aside([&] {
    if (other) {
      start_range_as(id, domain, name);
    } else {
      id = start_range(domain, name);
    }
  });
  return id;
}

std::uint64_t start_ex(const EventAttributes* attributes) {
  std::string buffer;
  std::string_view name;
  aside([&] { name = message_text(attributes, buffer); });
  auto* const next = next_core<std::uint64_t(const EventAttributes*)>(kRangeStartEx);
  return start(nullptr, name, next, [&] { return next(attributes); });
}

std::uint64_t start_ascii(const char* name) {
  auto* const next = next_core<std::uint64_t(const char*)>(kRangeStartA);
  return start(nullptr, bounded(name), next, [&] { return next(name); });
}

std::uint64_t start_wide(const wchar_t* name) {
  std::string text;
  aside([&] { text = narrow(name); });
  auto* const next = next_core<std::uint64_t(const wchar_t*)>(kRangeStartW);
  return start(nullptr, text, next, [&] { return next(name); });
}

void end(std::uint64_t id) {
  aside([&] { end_range(id); });
  if (auto* const next = next_core<void(std::uint64_t)>(kRangeEnd)) next(id);
}

std::uint64_t domain_start(const void* domain, const EventAttributes* attributes) {
  std::string buffer;
  std::string_view name;
  aside([&] { name = message_text(attributes, buffer); });
  auto* const next =
      next_core2<std::uint64_t(const void*, const EventAttributes*)>(kDomainRangeStartEx);
  return start(domain, name, next, [&] { return next(domain, attributes); });
}

void domain_end(const void* domain, std::uint64_t id) {
  aside([&] { end_range(id); });
  auto* const next = next_core2<void(const void*, std::uint64_t)>(kDomainRangeEnd);
  if (next) next(domain, id);
}

// --- Domains and strings

const void* register_ascii(const void* domain, const char* text) {
  const std::string_view bounded_text = bounded(text);
  auto* const next = next_core2<const void*(const void*, const char*)>(kDomainRegisterStringA);
  const void* handle = next ? next(domain, text) : nullptr;
  aside([&] {
    if (next) {
      register_text_as(handle, std::string(bounded_text));
    } else {
      handle = register_text(std::string(bounded_text));
    }
  });
  return handle;
}

const void* register_wide(const void* domain, const wchar_t* text) {
  auto* const next = next_core2<const void*(const void*, const wchar_t*)>(kDomainRegisterStringW);
  const void* handle = next ? next(domain, text) : nullptr;
  aside([&] {
    if (next) {
      register_text_as(handle, narrow(text));
    } else {
      handle = register_text(narrow(text));
    }
  });
  return handle;
}

// Without another tool, a domain is a handle that no other domain has, and a name. Equal names are
// one domain.
const void* create_ascii(const char* name) {
  auto* const next = next_core2<const void*(const char*)>(kDomainCreateA);
  const void* handle = next ? next(name) : nullptr;
  aside([&] {
    if (!next) handle = register_text(std::string("domain ") + (name ? name : ""));
    name_domain(handle, bounded(name));
  });
  return handle;
}

const void* create_wide(const wchar_t* name) {
  auto* const next = next_core2<const void*(const wchar_t*)>(kDomainCreateW);
  const void* handle = next ? next(name) : nullptr;
  aside([&] {
    const std::string text = narrow(name);
    if (!next) handle = register_text("domain " + text);
    name_domain(handle, text);
  });
  return handle;
}

// --- Memory

template <class Type>
Type* next_memory(MemoryFunction function) {
  return reinterpret_cast<Type*>(g_next_memory[function].load(std::memory_order_relaxed));
}

// The i-th element of a batch, whose elements may be longer than cuvmm's declaration.
template <class Element>
const Element& element(const void* elements, std::size_t size, std::size_t i) {
  return *reinterpret_cast<const Element*>(static_cast<const std::byte*>(elements) + i * size);
}

const void* heap_register(const void* domain, const HeapDescription* heap) {
  auto* const next = next_memory<const void*(const void*, const HeapDescription*)>(kHeapRegister);
  const void* handle = next ? next(domain, heap) : nullptr;
  aside([&] {
    if (!heap || heap->size < sizeof *heap || heap->type != kVirtualAddress || !heap->range ||
        heap->range_size < sizeof(VirtualRange))
      return;
    const auto& range = *static_cast<const VirtualRange*>(heap->range);
    std::string buffer;
    const auto name =
        message_text(static_cast<std::int32_t>(heap->message_type), heap->message, buffer);
    static std::atomic<std::uintptr_t> handles{0};
    if (!next) handle = reinterpret_cast<const void*>((handles.fetch_add(1) + 1) << 4);
    add_heap(handle, domain, reinterpret_cast<std::uintptr_t>(range.pointer), range.size, name);
  });
  return handle;
}

void heap_unregister(const void* domain, const void* heap) {
  aside([&] { remove_heap(heap); });
  if (auto* const next = next_memory<void(const void*, const void*)>(kHeapUnregister))
    next(domain, heap);
}

void heap_reset(const void* domain, const void* heap) {
  aside([&] { reset_heap(heap); });
  if (auto* const next = next_memory<void(const void*, const void*)>(kHeapReset))
    next(domain, heap);
}

// Batches of registrations and of resizings name their ranges in one form. Ranges of other kinds of
// memory are not followed.
template <class Batch, class Take>
void for_each_range(const Batch* batch, const Take& take) {
  if (!batch || batch->type != kVirtualAddress || !batch->elements ||
      batch->element_size < sizeof(VirtualRange))
    return;
  for (std::size_t i = 0; i < batch->count; ++i)
    take(element<VirtualRange>(batch->elements, batch->element_size, i), i);
}

void regions_register(const void* domain, const RegionsRegister* batch) {
  auto* const next = next_memory<void(const void*, const RegionsRegister*)>(kRegionsRegister);
  if (next) next(domain, batch);
  aside([&] {
    for_each_range(batch, [&](const VirtualRange& range, std::size_t i) {
      // Without another tool, a region's handle is its address.
      if (batch->handles && !next) batch->handles[i] = range.pointer;
      const void* const handle = batch->handles && next ? batch->handles[i] : nullptr;
      add_region(batch->heap, reinterpret_cast<std::uintptr_t>(range.pointer), range.size, handle);
    });
  });
}

void regions_resize(const void* domain, const RegionsResize* batch) {
  aside([&] {
    for_each_range(batch, [](const VirtualRange& range, std::size_t) {
      resize_region(reinterpret_cast<std::uintptr_t>(range.pointer), range.size);
    });
  });
  if (auto* const next = next_memory<void(const void*, const RegionsResize*)>(kRegionsResize))
    next(domain, batch);
}

void regions_unregister(const void* domain, const RegionsUnregister* batch) {
  aside([&] {
    if (!batch || !batch->elements || batch->element_size < sizeof(void*)) return;
    for (std::size_t i = 0; i < batch->count; ++i)
      remove_region(element<const void*>(batch->elements, batch->element_size, i));
  });
  if (auto* const next =
          next_memory<void(const void*, const RegionsUnregister*)>(kRegionsUnregister))
    next(domain, batch);
}

void regions_name(const void* domain, const RegionsName* batch) {
  aside([&] {
    if (!batch || !batch->elements || batch->element_size < sizeof(RegionName)) return;
    for (std::size_t i = 0; i < batch->count; ++i) {
      const auto& one = element<RegionName>(batch->elements, batch->element_size, i);
      std::string buffer;
      name_region(one.region, domain,
                  message_text(static_cast<std::int32_t>(one.name_type), one.name, buffer));
    }
  });
  if (auto* const next = next_memory<void(const void*, const RegionsName*)>(kRegionsName))
    next(domain, batch);
}

// --- Tables

struct Slot {
  unsigned id;
  Function function;
};

template <class Type>
Slot slot(unsigned id, Type* function) {
  return {id, reinterpret_cast<Function>(function)};
}

// A module's table in the copy of NVTX that is being set up; empty if the copy has no such module.
struct ModuleTable {
  Function** slots = nullptr;
  unsigned count = 0;

  ModuleTable(const CallbacksTable& callbacks, int module) {
    if (callbacks.functions(module, &slots, &count) != 1) count = 0;
  }
  Function at(unsigned id) const { return id < count && slots[id] ? *slots[id] : nullptr; }
};

// Puts cuvmm's functions into the table, and stores the functions that the other tool has put there
// since `before`.
void install(const ModuleTable& table, std::initializer_list<Slot> slots, const Function* before,
             std::atomic<Function>* next) {
  for (const Slot& one : slots) {
    if (one.id >= table.count || !table.slots[one.id]) continue;
    const Function there = *table.slots[one.id];
    if (there != before[one.id] && there != one.function)
      next[one.id].store(there, std::memory_order_relaxed);
    *table.slots[one.id] = one.function;
  }
}

}  // namespace

int attach(GetExportTable get, Initialize next) noexcept {
  const auto* const callbacks =
      get ? static_cast<const CallbacksTable*>(get(kCallbacksTable)) : nullptr;
  if (!callbacks || callbacks->size < sizeof(CallbacksTable)) return next ? next(get) : 0;
  const ModuleTable core(*callbacks, kModuleCore), core2(*callbacks, kModuleCore2);
  // The functions that are there now look for a tool: they belong to no other tool.
  Function core_before[kRangePop + 1], core2_before[kDomainCreateW + 1];
  for (unsigned id = 0; id <= kRangePop; ++id) core_before[id] = core.at(id);
  for (unsigned id = 0; id <= kDomainCreateW; ++id) core2_before[id] = core2.at(id);
  if (next) next(get);
  install(core,
          {slot(kRangeStartEx, start_ex), slot(kRangeStartA, start_ascii),
           slot(kRangeStartW, start_wide), slot(kRangeEnd, end), slot(kRangePushEx, push_ex),
           slot(kRangePushA, push_ascii), slot(kRangePushW, push_wide), slot(kRangePop, pop)},
          core_before, g_next_core);
  install(
      core2,
      {slot(kDomainRangeStartEx, domain_start), slot(kDomainRangeEnd, domain_end),
       slot(kDomainRangePushEx, domain_push), slot(kDomainRangePop, domain_pop),
       slot(kDomainRegisterStringA, register_ascii), slot(kDomainRegisterStringW, register_wide),
       slot(kDomainCreateA, create_ascii), slot(kDomainCreateW, create_wide)},
      core2_before, g_next_core2);
  return 1;
}

int attach_extension(ExtensionModule* module, InitializeExtension next) noexcept {
  const bool others = next && next(module) != 0;
  // cuvmm handles no function of other extensions. A refusal would mean that no tool listens:
  // nvtxDomainIsEnabled is a function of the extension for payloads, and Python's package calls it.
  if (!module || module->module != kMemoryModule || module->segment_count == 0) return 1;
  const ExtensionSegment& segment = module->segments[0];
  const Slot slots[] = {
      slot(kHeapRegister, heap_register),   slot(kHeapUnregister, heap_unregister),
      slot(kHeapReset, heap_reset),         slot(kRegionsRegister, regions_register),
      slot(kRegionsResize, regions_resize), slot(kRegionsUnregister, regions_unregister),
      slot(kRegionsName, regions_name),
  };
  for (const Slot& one : slots) {
    if (one.id >= segment.count) continue;
    const auto own = reinterpret_cast<std::intptr_t>(one.function);
    std::intptr_t& there = segment.slots[one.id];
    constexpr std::intptr_t kFresh = 0, kDisabled = 1;
    if (others && there != kFresh && there != kDisabled && there != own)
      g_next_memory[one.id].store(there, std::memory_order_relaxed);
    there = own;
  }
  return 1;
}

}  // namespace cuvmm::shim::nvtx
