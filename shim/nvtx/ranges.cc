// SPDX-License-Identifier: Apache-2.0
#include "shim/nvtx/ranges.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "shim/base/call_hooks.h"
#include "shim/base/owned_mutex.h"
#include "shim/base/thread_state.h"

namespace cuvmm::shim::nvtx {

namespace {

constexpr std::size_t kMostOpen = 64;
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kTextOfThread = 4096;
constexpr std::size_t kMostStarted = 16;  // the ranges of a list
// Programs number their steps: so the number of lists has a limit.
constexpr std::size_t kMostLists = 1 << 14;
constexpr std::chrono::milliseconds kPatienceForRanges{1000};

// Made at a thread's first push, and freed with the thread. All bytes zero: no range is open.
struct ThreadRanges {
  struct Open {
    const void* domain;
    std::uint16_t begin, length;  ///< of the name
    RangesId list;                ///< the list of the open ranges up to this one; 0 not yet known
    std::uint32_t generation;     ///< the generation of the started ranges at the begin of the list
  };
  unsigned depth;
  std::uint32_t text_used;
  Open open[kMostOpen];
  char text[kTextOfThread];

  std::string_view name(const Open& one) const { return {text + one.begin, one.length}; }
};

struct Lists {
  // For each range the name of its domain and its own name, each with a zero byte at its end.
  std::unordered_map<std::string, RangesId> ids;
  std::deque<const std::string*> by_id;
  std::map<std::uint64_t, RangeName> started;
  std::unordered_map<const void*, std::string> domains;
  std::uint64_t last_started = 0;
};

constinit OwnedMutex g_mutex;
constinit std::atomic<std::uint32_t> g_generation{1};  // of the started ranges

// Never destroyed, because findings are written until the process ends.
Lists& lists() {
  static Lists* const kLists = new Lists;
  return *kLists;
}

pthread_key_t g_ranges_key;
bool g_have_ranges_key = false;
pthread_once_t g_ranges_key_once = PTHREAD_ONCE_INIT;

ThreadRanges* make_thread_ranges() {
  pthread_once(&g_ranges_key_once, [] {
    g_have_ranges_key = pthread_key_create(&g_ranges_key, [](void* block) {
                          t_state.ranges = nullptr;
                          std::free(block);
                        }) == 0;
  });
  if (!g_have_ranges_key) return nullptr;
  void* const block = std::calloc(1, sizeof(ThreadRanges));
  if (!block || pthread_setspecific(g_ranges_key, block) != 0) {
    std::free(block);
    return nullptr;
  }
  t_state.ranges = block;
  detail::g_used.store(true, std::memory_order_relaxed);
  g_hooks.stacks_have_more.store(true, std::memory_order_relaxed);
  return static_cast<ThreadRanges*>(block);
}

RangesId list_of(const std::string& names) {
  if (names.empty()) return 0;
  const auto known = lists().ids.find(names);
  if (known != lists().ids.end()) return known->second;
  if (lists().by_id.size() >= kMostLists) return 0;
  const auto added = lists().ids.emplace(names, static_cast<RangesId>(lists().by_id.size() + 1));
  lists().by_id.push_back(&added.first->first);
  return added.first->second;
}

std::string_view domain_name(const void* domain) CUVMM_NEEDS(g_mutex) {
  const auto known = domain ? lists().domains.find(domain) : lists().domains.end();
  return known == lists().domains.end() ? std::string_view() : known->second;
}

// The list of the started ranges, and of the thread's first `depth` ranges.
RangesId list_now(const ThreadRanges* mine, std::size_t depth) CUVMM_NEEDS(g_mutex) {
  std::string names;
  std::size_t started = 0;
  const auto add = [&](std::string_view domain, std::string_view name) {
    names.append(domain) += '\0';
    names.append(name) += '\0';
  };
  for (const auto& [id, range] : lists().started) {
    if (started++ == kMostStarted) break;
    add(range.domain, range.name);
  }
  for (std::size_t i = 0; i < depth; ++i) {
    add(domain_name(mine->open[i].domain), mine->name(mine->open[i]));
  }
  return list_of(names);
}

}  // namespace

std::string RangeName::text() const {
  if (domain.empty()) return name;
  return name.empty() ? domain + ":" : domain + ": " + name;
}

void name_domain(const void* domain, std::string_view name) {
  constexpr std::size_t kMostDomains = 4096;
  const Locked lock(g_mutex);
  if (!domain || lists().domains.size() >= kMostDomains) return;
  lists().domains[domain] = std::string(name.substr(0, kLongestName));
}

std::string in_domain(const void* domain, std::string_view name) {
  RangeName range{"", std::string(name)};
  if (!domain) return range.name;
  const Locked lock(g_mutex);
  range.domain = domain_name(domain);
  return range.text();
}

int push_range(const void* domain, std::string_view name) noexcept {
  auto* mine = static_cast<ThreadRanges*>(t_state.ranges);
  if (!mine) [[unlikely]] {
    mine = make_thread_ranges();
    if (!mine) return -1;
  }
  if (mine->depth < kMostOpen) {
    const std::size_t room = kTextOfThread - mine->text_used;
    const std::size_t length = std::min({name.size(), kLongestName, room});
    mine->open[mine->depth] = {domain, static_cast<std::uint16_t>(mine->text_used),
                               static_cast<std::uint16_t>(length), 0, 0};
    if (length != 0) std::memcpy(mine->text + mine->text_used, name.data(), length);
    mine->text_used += static_cast<std::uint32_t>(length);
  }
  return static_cast<int>(mine->depth++);
}

int pop_range(const void* domain) noexcept {
  auto* const mine = static_cast<ThreadRanges*>(t_state.ranges);
  if (!mine || mine->depth == 0) return -1;
  if (mine->depth > kMostOpen) return static_cast<int>(--mine->depth);
  std::size_t at = mine->depth;
  while (at > 0 && mine->open[at - 1].domain != domain) --at;
  if (at == 0) return -1;
  // Ranges of other domains may go on inside of the popped one: they belong to other lists now.
  for (std::size_t i = at; i < mine->depth; ++i) {
    mine->open[i - 1] = mine->open[i];
    mine->open[i - 1].list = 0;
  }
  --mine->depth;
  const ThreadRanges::Open* const last = mine->depth ? &mine->open[mine->depth - 1] : nullptr;
  mine->text_used = last ? last->begin + last->length : 0u;
  return static_cast<int>(at - 1);
}

std::uint64_t start_range(const void* domain, std::string_view name) noexcept {
  std::uint64_t id = 0;
  {
    const Locked lock(g_mutex);
    id = ++lists().last_started;
  }
  start_range_as(id, domain, name);
  return id;
}

void start_range_as(std::uint64_t id, const void* domain, std::string_view name) noexcept {
  constexpr std::size_t kMostStarted = 65536;  // for a program that never ends them
  const Locked lock(g_mutex);
  if (lists().started.size() >= kMostStarted) return;
  lists().started[id] = {std::string(domain_name(domain)),
                         std::string(name.substr(0, kLongestName))};
  g_generation.fetch_add(1, std::memory_order_relaxed);
  detail::g_used.store(true, std::memory_order_relaxed);
  g_hooks.stacks_have_more.store(true, std::memory_order_relaxed);
}

void end_range(std::uint64_t id) noexcept {
  const Locked lock(g_mutex);
  if (lists().started.erase(id) != 0) g_generation.fetch_add(1, std::memory_order_relaxed);
}

RangesId detail::open_ranges_now() noexcept {
  auto* const mine = static_cast<ThreadRanges*>(t_state.ranges);
  const std::size_t depth = mine ? std::min<std::size_t>(mine->depth, kMostOpen) : 0;
  ThreadRanges::Open* const last = depth ? &mine->open[depth - 1] : nullptr;
  const std::uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (last && last->list != 0 && last->generation == generation) return last->list;
  // Fails if a signal handler interrupted this thread in these functions.
  if (!g_mutex.lock_within(kPatienceForRanges)) return 0;
  const Locked lock(g_mutex, kHeldAlready);
  if (!last && lists().started.empty()) return 0;
  const RangesId list = list_now(mine, depth);
  if (last) {
    last->list = list;
    last->generation = generation;
  }
  return list;
}

std::vector<RangeName> range_names(RangesId id) {
  std::vector<RangeName> names;
  if (id == 0 || !g_mutex.lock_within(kPatienceForRanges)) return names;
  const Locked lock(g_mutex, kHeldAlready);
  if (id > lists().by_id.size()) return names;
  std::string_view rest = *lists().by_id[id - 1];
  const auto next = [&] {
    const std::string text(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(text.size() + 1);
    return text;
  };
  while (!rest.empty()) {
    std::string domain = next();
    names.push_back({std::move(domain), next()});
  }
  return names;
}

std::vector<std::string> range_texts(RangesId id) {
  std::vector<std::string> texts;
  for (const RangeName& range : range_names(id)) texts.push_back(range.text());
  return texts;
}

bool lock_ranges() noexcept { return g_mutex.lock_for_fork(); }
void unlock_ranges() noexcept CUVMM_UNCHECKED { g_mutex.unlock(); }

}  // namespace cuvmm::shim::nvtx
