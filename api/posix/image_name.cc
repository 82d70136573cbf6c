// SPDX-License-Identifier: Apache-2.0
#include "api/posix/image_name.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace cuvmm {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
std::atomic<std::uint64_t> g_born{0};

std::uint64_t now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::string image_name() {
  std::uint64_t born = 0;
  if (const std::uint64_t mine = now(); g_born.compare_exchange_strong(born, mine)) born = mine;
  char text[64];
  std::snprintf(text, sizeof text, "%d-%" PRIu64 ".%09" PRIu64, ::getpid(), born / kSecond,
                born % kSecond);
  return text;
}

void start_image() noexcept { g_born.store(now()); }

}  // namespace cuvmm
