// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/stacks.h"

#include <pthread.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>

#include "api/fnv1a.h"
#include "shim/base/call_hooks.h"
#include "shim/base/owned_mutex.h"
#include "shim/base/thread_state.h"
#include "shim/nvtx/memory.h"
#include "shim/nvtx/ranges.h"
#include "shim/stack/known_stack.h"
#include "shim/stack/python/python_stack.h"
#include "shim/stack/walk_cache.h"

namespace cuvmm::shim {

namespace {

// --- The table of all stacks, in blocks that are never freed, at most kMaxWords together

constexpr std::size_t kBuckets = 1 << 14;
constexpr std::size_t kMaxStacks = kMostStacks;
constexpr std::size_t kWordsPerBlock = 1 << 16;
constexpr std::size_t kMaxWords = std::size_t{1} << 21;  // 16 MiB
// One native stack may lie under many lines of a Python program: the rest of the table stays free
// for other stacks.
constexpr std::size_t kMaxWithPython = kMaxStacks / 4 * 3;
// A stack may also lie under many ranges of NVTX, whose names may contain step numbers.
constexpr std::size_t kMaxWithRanges = kMaxStacks / 2;

struct Stored {
  const std::uintptr_t* frames;  ///< `count` addresses, then `python` words
  std::uint16_t count, python;
  std::uint32_t hash;
  StackId next;
  std::uint32_t ranges;  ///< of shim/nvtx/ranges.h; a stack with ranges shares the frames of the
                         ///< stack without them

  std::span<const std::uintptr_t> words() const { return {frames, std::size_t{count} + python}; }
};

struct Table {
  OwnedMutex mutex;
  StackId buckets[kBuckets];
  Stored stacks[kMaxStacks + 1];
  std::atomic<std::uint32_t> count{0};
  std::uintptr_t* block = nullptr;
  std::size_t block_left = 0;  ///< all members are zero at the start, so that the table costs no
                               ///< file space
  std::size_t words = 0;
  std::size_t dropped = 0;
};

// Zero pages until they are written; initialised at compile time and never destroyed.
constinit Table g_table{};

std::uint32_t hash_of(std::span<const std::uintptr_t> frames) {
  Fnv1a hash;
  for (const std::uintptr_t frame : frames) hash.add(std::uint64_t{frame});
  return static_cast<std::uint32_t>(hash.value() ^ (hash.value() >> 32));
}

const std::uintptr_t* keep(std::span<const std::uintptr_t> frames) {
  if (g_table.words + frames.size() > kMaxWords) return nullptr;
  if (g_table.block_left < frames.size()) {
    g_table.block = new (std::nothrow) std::uintptr_t[kWordsPerBlock];
    g_table.block_left = g_table.block ? kWordsPerBlock : 0;
    if (!g_table.block) return nullptr;
  }
  std::uintptr_t* place = g_table.block + (kWordsPerBlock - g_table.block_left);
  std::copy(frames.begin(), frames.end(), place);
  g_table.block_left -= frames.size();
  g_table.words += frames.size();
  return place;
}

// Returns 0 if the table is full, and if a signal handler interrupted its thread in this function.
// `frames`: return addresses, followed by `python` words.
StackId intern(std::span<const std::uintptr_t> frames, std::size_t python = 0) {
  if (g_table.mutex.held_here()) [[unlikely]]
    return 0;
  const std::uint32_t hash = hash_of(frames) + static_cast<std::uint32_t>(python);
  const Locked lock(g_table.mutex);
  StackId& head = g_table.buckets[hash % kBuckets];
  for (StackId id = head; id != 0; id = g_table.stacks[id].next) {
    const Stored& stored = g_table.stacks[id];
    if (stored.hash == hash && stored.python == python && stored.ranges == 0 &&
        std::ranges::equal(stored.words(), frames)) {
      return id;
    }
  }
  const std::uint32_t count = g_table.count.load(std::memory_order_relaxed);
  const std::size_t most = python == 0 ? kMaxStacks : kMaxWithPython;
  const std::uintptr_t* place = count < most ? keep(frames) : nullptr;
  if (!place) {
    ++g_table.dropped;
    return 0;
  }
  const StackId id = count + 1;
  g_table.stacks[id] = {place,
                        static_cast<std::uint16_t>(frames.size() - python),
                        static_cast<std::uint16_t>(python),
                        hash,
                        head,
                        0};
  head = id;
  g_table.count.store(id, std::memory_order_release);
  return id;
}

// Returns the stack `alone` with the ranges; `alone` itself if the table is full or its lock is
// held here.
StackId intern_with_ranges(StackId alone, std::uint32_t ranges) {
  if (g_table.mutex.held_here()) [[unlikely]]
    return alone;
  const Locked lock(g_table.mutex);
  const Stored stack = g_table.stacks[alone];
  const std::uint32_t hash = stack.hash + ranges * 0x9e3779b9u;
  StackId& head = g_table.buckets[hash % kBuckets];
  for (StackId id = head; id != 0; id = g_table.stacks[id].next) {
    const Stored& stored = g_table.stacks[id];
    if (stored.ranges == ranges && stored.frames == stack.frames && stored.count == stack.count &&
        stored.python == stack.python)
      return id;
  }
  const std::uint32_t count = g_table.count.load(std::memory_order_relaxed);
  if (count >= kMaxWithRanges) return alone;
  const StackId id = count + 1;
  g_table.stacks[id] = {stack.frames, stack.count, stack.python, hash, head, ranges};
  head = id;
  g_table.count.store(id, std::memory_order_release);
  return id;
}

// --- Unwinding, and the cache that avoids it

StackId intern(const Walk& walk) {
  std::uintptr_t frames[kMaxFrames];
  for (std::uint32_t i = 0; i < walk.count; ++i) frames[i] = walk.places[i].address;
  return intern(std::span(frames, walk.count));
}

// The slot in the frame below `cfa` that holds `address`: right below `cfa` on x86-64, anywhere in
// the callee's frame on aarch64. Null unless exactly one slot holds it.
const std::uintptr_t* find_slot(std::uintptr_t from, std::uintptr_t cfa, std::uintptr_t address) {
  const auto* top = reinterpret_cast<const std::uintptr_t*>(cfa);
#if defined(__x86_64__)
  (void)from;
  return top[-1] == address ? top - 1 : nullptr;
#else
  const std::uintptr_t* found = nullptr;
  for (const auto* slot = reinterpret_cast<const std::uintptr_t*>(from); slot < top; ++slot) {
    if (*slot != address) continue;
    if (found) return nullptr;
    found = slot;
  }
  return found;
#endif
}

std::atomic<std::uint32_t> g_depth{kMaxFrames};

struct Unwinding {
  Walk* walk;
  Caller caller;
  std::uintptr_t previous_cfa;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  auto& unwinding = *static_cast<Unwinding*>(argument);
  Walk& walk = *unwinding.walk;
  const std::uintptr_t pc = _Unwind_GetIP(context);
  const std::uintptr_t cfa = _Unwind_GetCFA(context);
  const std::uintptr_t from = unwinding.previous_cfa;
  unwinding.previous_cfa = cfa;
  if (pc == 0) return _URC_NORMAL_STOP;
  if (walk.count == 0) {
    // The shim's own frames come first; the program's frame is the one with the caller's return
    // address, and lies above the caller's slot.
    const auto slot = reinterpret_cast<std::uintptr_t>(unwinding.caller.slot);
    if (pc != unwinding.caller.return_address || cfa <= slot) return _URC_NO_REASON;
    walk.start(unwinding.caller);
    return _URC_NO_REASON;
  }
  const std::uintptr_t* slot = find_slot(from, cfa, pc);
  if (!slot) walk.repeatable = false;
  walk.places[walk.count] = {pc, slot};
  return ++walk.count >= g_depth.load(std::memory_order_relaxed) ? _URC_NORMAL_STOP
                                                                 : _URC_NO_REASON;
}

void unwind(const Caller& caller, Walk& walk) {
  walk.count = 0;
  walk.repeatable = true;
  if (g_depth.load(std::memory_order_relaxed) == 1) {
    walk.start(caller);
    return;
  }
  Unwinding unwinding{&walk, caller, 0};
  _Unwind_Backtrace(&visit, &unwinding);
  if (walk.count == 0) {
    // Unwinding did not reach the caller (code without unwind tables): only the caller is known.
    walk.start(caller);
    walk.repeatable = false;
  }
}

// --- The small cache of each thread

pthread_key_t g_key;
bool g_have_key = false;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;

WalkCache* make_cache() {
  pthread_once(&g_key_once, [] {
    g_have_key = pthread_key_create(&g_key, [](void* block) {
                   t_state.stacks = nullptr;
                   std::free(block);
                 }) == 0;
  });
  if (!g_have_key) return nullptr;
  // Zero bytes are an empty cache, and pages that no walk uses cost no memory.
  static_assert(std::is_trivially_copyable_v<WalkCache>);
  void* const block = std::calloc(1, sizeof(WalkCache) + alignof(WalkCache));
  if (!block || pthread_setspecific(g_key, block) != 0) {
    std::free(block);
    return nullptr;
  }
  void* aligned = block;
  std::size_t space = sizeof(WalkCache) + alignof(WalkCache);
  t_state.stacks = std::align(alignof(WalkCache), sizeof(WalkCache), aligned, space);
  auto* const cache = static_cast<WalkCache*>(t_state.stacks);
  cache->range = OwnRange::of_this_thread();
  return cache;
}

[[gnu::cold, gnu::noinline]] StackId capture_new_stack(const Caller& caller) noexcept {
  Walk walk;
  unwind(caller, walk);
  const StackId id = intern(walk);
  auto* cache = static_cast<WalkCache*>(t_state.stacks);
  if (!cache) cache = make_cache();
  if (!cache || !walk.repeatable || !cache->range.holds(walk)) return id;
  cache->set_of(caller).keep(caller, walk, id);
  return id;
}

[[gnu::hot]] StackId capture_native_stack(const Caller& caller) noexcept {
  if (auto* cache = static_cast<WalkCache*>(t_state.stacks)) [[likely]] {
    std::uint64_t head = 0;
    if (cache->find(caller, head)) return static_cast<StackId>(head);
  }
  return capture_new_stack(caller);
}

// The stack `native` with the Python functions that the thread is in, or `native` itself.
[[gnu::noinline]] StackId with_python(StackId native, const PythonInterpreter& python) noexcept {
  auto* const cache = static_cast<WalkCache*>(t_state.stacks);
  GuardedMemory for_now;
  if (!cache) for_now = {};
  PythonStack stack(cache ? cache->python_memory : for_now, cache ? &cache->python_codes : nullptr);
  if (native == 0 || !stack.take(python)) return native;
  const std::uint64_t key = stack.key ^ native * std::uint64_t{0x9e3779b97f4a7c15u};
  KnownStack* const known = cache ? &cache->python[key % WalkCache::kPythonKept] : nullptr;
  if (known) {
    if (const std::optional<StackId> id = known->find(key)) return *id;
  }
  std::array<PythonWord, kMaxPythonFrames> python_words;
  std::uintptr_t words[kMaxFrames + kMaxPythonFrames];
  const auto frames = stack_frames(native);
  const auto named = stack.words(python, python_words);
  if (named.empty()) return native;
  std::ranges::copy(named, std::ranges::copy(frames, words).out);
  const StackId id = intern(std::span(words, frames.size() + named.size()), named.size());
  if (id == 0) return native;
  if (known) known->keep(key, id);
  return id;
}

[[gnu::noinline]] StackId with_ranges(StackId alone, std::uint32_t ranges) noexcept {
  if (alone == 0) return 0;
  auto* const cache = static_cast<WalkCache*>(t_state.stacks);
  const std::uint64_t key = std::uint64_t{alone} << 32 | ranges;
  KnownStack* const known =
      cache ? &cache->ranges[key * std::uint64_t{0x9e3779b97f4a7c15u} >> 58] : nullptr;
  static_assert(WalkCache::kRangesKept == 64);
  if (known) {
    if (const std::optional<StackId> id = known->find(key)) return *id;
  }
  const StackId id = intern_with_ranges(alone, ranges);
  if (known) known->keep(key, id);
  return id;
}

}  // namespace

StackId capture_stack(const Caller& caller) noexcept {
  const StackId alone = capture_stack_alone(caller);
  if (const std::uint32_t ranges = nvtx::open_ranges()) [[unlikely]]
    return with_ranges(alone, ranges);
  return alone;
}

namespace {

// capture_maker() for a stack that the thread does not know, or not with this function.
[[gnu::noinline]] StackId capture_and_note(const Caller& caller, FunctionTag function,
                                           const char* name) noexcept {
  const StackId id = capture_stack(caller);
  note_function(id, name);
  auto* const cache = static_cast<WalkCache*>(t_state.stacks);
  if (!cache || g_hooks.stacks_have_more.load(std::memory_order_relaxed)) return id;
  std::uint64_t head = 0;
  KnownWalk* const walk = cache->find(caller, head);
  if (walk && static_cast<StackId>(head) == id) {
    walk->note(head, called_by_several(id) ? KnownWalk::kSeveral : function);
  }
  return id;
}

}  // namespace

StackId capture_maker(const Caller& caller, FunctionTag function, const char* name) noexcept {
  auto* const cache = static_cast<WalkCache*>(t_state.stacks);
  if (cache && !g_hooks.stacks_have_more.load(std::memory_order_relaxed)) [[likely]] {
    std::uint64_t head = 0;
    if (cache->find(caller, head)) [[likely]] {
      const std::uint64_t known = head >> KnownWalk::kFunctionShift;
      if (known == function || known == KnownWalk::kSeveral) [[likely]]
        return static_cast<StackId>(head);
    }
  }
  return capture_and_note(caller, function, name);
}

std::uint32_t stack_ranges(StackId id) noexcept {
  if (id == 0 || id > g_table.count.load(std::memory_order_acquire)) return 0;
  return g_table.stacks[id].ranges;
}

[[gnu::hot]] StackId capture_stack_alone(const Caller& caller) noexcept {
  const StackId native = capture_native_stack(caller);
  if (const PythonInterpreter* const python = python_here()) [[unlikely]]
    return with_python(native, *python);
  return native;
}

std::span<const std::uintptr_t> stack_frames(StackId id) noexcept {
  if (id == 0 || id > g_table.count.load(std::memory_order_acquire)) return {};
  return {g_table.stacks[id].frames, g_table.stacks[id].count};
}

std::span<const std::uintptr_t> stack_python(StackId id) noexcept {
  if (id == 0 || id > g_table.count.load(std::memory_order_acquire)) return {};
  const Stored& stored = g_table.stacks[id];
  return stored.words().subspan(stored.count);
}

void limit_stacks(std::size_t frames) noexcept {
  g_depth.store(static_cast<std::uint32_t>(std::clamp<std::size_t>(frames, 1, kMaxFrames)),
                std::memory_order_relaxed);
}

StackLocks lock_stacks() noexcept {
  StackLocks taken;
  taken.ranges = nvtx::lock_ranges();
  taken.memory = nvtx::lock_memory();
  taken.python_names = lock_python_names();
  taken.table = g_table.mutex.lock_for_fork();
  return taken;
}
void unlock_stacks(const StackLocks& taken) noexcept CUVMM_UNCHECKED {
  if (taken.table) g_table.mutex.unlock();
  if (taken.python_names) unlock_python_names();
  if (taken.memory) nvtx::unlock_memory();
  if (taken.ranges) nvtx::unlock_ranges();
}

}  // namespace cuvmm::shim
