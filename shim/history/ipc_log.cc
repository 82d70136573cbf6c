// SPDX-License-Identifier: Apache-2.0
#include "shim/history/ipc_log.h"

#include <time.h>

#include <cinttypes>
#include <cstdio>

#include "api/fnv1a.h"

namespace cuvmm::shim {

namespace {

std::uint64_t hash_of(const IpcBytes& bytes) {
  Fnv1a hash;
  for (const unsigned char byte : bytes) hash.add(std::uint64_t{byte});
  return hash.value();
}

}  // namespace

std::uint64_t IpcLog::now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void IpcLog::add(bool exported, const IpcBytes& handle, std::uint64_t pointer, const Origin& by,
                 bool pool, std::uint64_t began) {
  const std::uint64_t hash = hash_of(handle);
  for (const Use& use : uses_) {
    // A further export of one allocation, or a further open in one context: only the first counts.
    if (use.exported == exported && use.handle == hash && use.until == 0) return;
  }
  if (uses_.size() == kMost) return;
  uses_.push_back({exported, pool, hash, pointer, by, began, now(), {}, 0});
  if (pool) ++pools_;
}

void IpcLog::end_of_pool(std::uint64_t pointer, const Origin& by) {
  for (Use& use : uses_) {
    if (!use.pool || use.pointer != pointer || use.until != 0) continue;
    use.ended_by = by;
    use.until = now();
    --pools_;
  }
}

void IpcLog::end(bool exported, const IpcBytes& handle, const Origin& by, std::uint64_t at) {
  const std::uint64_t hash = hash_of(handle);
  for (Use& use : uses_) {
    if (use.exported != exported || use.handle != hash || use.until != 0) continue;
    use.ended_by = by;
    use.until = at;
  }
}

std::string IpcLog::json() const {
  if (uses_.empty()) return {};
  std::string out = "[";
  for (const Use& use : uses_) {
    char text[416];
    char began[40] = "";
    if (use.began != 0) std::snprintf(began, sizeof began, "\"began\":%" PRIu64 ",", use.began);
    const std::uint64_t until = use.exported || use.until ? use.until : now();
    std::snprintf(text, sizeof text,
                  "%s{\"role\":\"%s\",%s\"handle\":\"%016" PRIx64 "\",\"pointer\":\"%#" PRIx64
                  "\",\"call\":%" PRIu64 ",\"stack\":%u,%s\"from\":%" PRIu64
                  ",\"ended_by_call\":%" PRIu64 ",\"ended_stack\":%u,\"until\":%" PRIu64 "}",
                  out.size() > 1 ? "," : "", use.exported ? "export" : "open",
                  use.pool ? "\"pool\":true," : "", use.handle, use.pointer, use.by.call,
                  use.by.stack, began, use.from, use.ended_by.call, use.ended_by.stack, until);
    out += text;
  }
  return out + "]";
}

std::set<StackId> IpcLog::stacks(std::size_t most) const {
  std::set<StackId> all;
  for (const Use& use : uses_) {
    for (const StackId stack : {use.by.stack, use.ended_by.stack}) {
      if (stack != 0 && all.size() < most) all.insert(stack);
    }
  }
  return all;
}

}  // namespace cuvmm::shim
