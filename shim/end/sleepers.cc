// SPDX-License-Identifier: Apache-2.0
#include "shim/end/sleepers.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>

#include "recorder/shared_words.h"
#include "shim/base/ending.h"
#include "shim/objects/alive.h"
#include "shim/recorder/recorded_call.h"

namespace cuvmm::shim {

namespace {

// How often a thread that sleeps now has gone to sleep; nullopt if the thread does not sleep.
std::optional<std::uint64_t> times_asleep(std::uint32_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%u/status", thread);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char text[4096];
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (got <= 0) return std::nullopt;
  text[got] = '\0';
  const char* const state = std::strstr(text, "\nState:\t");
  const char* const times = std::strstr(text, "\nvoluntary_ctxt_switches:\t");
  if (!state || !times || state[8] != 'S') return std::nullopt;
  return std::strtoull(times + std::strlen("\nvoluntary_ctxt_switches:\t"), nullptr, 10);
}

bool in_a_call(const last_calls::Image& image, std::uint32_t thread) {
  return std::any_of(
      std::begin(image.threads), std::end(image.threads), [&](const last_calls::ThreadSlot& slot) {
        return recorder::load(slot.owner) == thread && recorder::load(slot.call) != 0;
      });
}

}  // namespace

std::vector<std::uint32_t> sleepers() {
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 20'000'000};
  constexpr int kLooks = 6;  // a thread that is about to sleep may have to wait for a processor
                             // first
  const last_calls::Image* const image = g_last_calls.image();
  std::vector<std::uint32_t> found;
  if (!image) return found;
  std::map<std::uint32_t, std::optional<std::uint64_t>> awake;
  for (const std::uint32_t thread : other_threads()) {
    if (g_ending.leaves(thread)) {
      found.push_back(thread);
    } else {
      awake.emplace(thread, std::nullopt);
    }
  }
  for (int look = 0; look < kLooks && !awake.empty(); ++look) {
    if (look != 0) ::syscall(SYS_nanosleep, &kNap, nullptr);
    for (auto it = awake.begin(); it != awake.end();) {
      auto& [thread, before] = *it;
      const auto now = in_a_call(*image, thread) ? std::nullopt : times_asleep(thread);
      const bool asleep = now && now == before;
      before = now;
      if (asleep) found.push_back(thread);
      it = asleep ? awake.erase(it) : std::next(it);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace cuvmm::shim
