// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/log.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "emulator/base/life.h"
#include "emulator/core/base_entry.h"

namespace cuvmm::emulator {

namespace {

// A slot of the log. One thread at a time writes a slot, as a rule: each number belongs to one
// thread, and a hundred other threads would have to overtake that thread while it writes. `number`
// says which refusal the other members belong to.
struct Refusal {
  std::atomic<std::uint32_t> number{~0u};
  std::atomic<const char*> function{nullptr};
  std::atomic<int> result{0};
  std::atomic<std::uint64_t> thread{0};
  std::atomic<std::int64_t> seconds{0};
  std::atomic<std::int32_t> milliseconds{0};
};
constinit Refusal g_refusals[log::kLines];
constinit std::atomic<std::uint32_t> g_next{0};

struct Listener {
  std::atomic<bool> taken{false};
  std::atomic<log::Callback> callback{nullptr};
  std::atomic<void*> data{nullptr};
};
constinit Listener g_listeners[16];

int sentence(char* text, std::size_t size, const char* function, int result) {
  const char* name = nullptr;
  if (run_base(calls::GetErrorName{.error = static_cast<CUresult>(result), .str = &name}) !=
      CUDA_SUCCESS)
    name = "?";
  return std::snprintf(text, size, "Returning %d (%s) from %s", result, name, function);
}

}  // namespace

void log_refusal(const char* function, CUresult result) noexcept {
  // An H200 with driver 580.159.04 logs no calls before cuInit.
  if (ended() || result == CUDA_ERROR_NOT_INITIALIZED) return;
  const std::uint32_t number = g_next.fetch_add(1, std::memory_order_relaxed);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  Refusal& refusal = g_refusals[number % log::kLines];
  refusal.number.store(~0u, std::memory_order_release);
  refusal.function.store(function, std::memory_order_release);
  refusal.result.store(static_cast<int>(result), std::memory_order_relaxed);
  refusal.thread.store(static_cast<std::uint64_t>(::pthread_self()), std::memory_order_relaxed);
  refusal.seconds.store(now.tv_sec, std::memory_order_relaxed);
  refusal.milliseconds.store(static_cast<std::int32_t>(now.tv_nsec / 1'000'000),
                             std::memory_order_relaxed);
  refusal.number.store(number, std::memory_order_release);
  for (Listener& each : g_listeners) {
    const log::Callback callback = each.callback.load(std::memory_order_acquire);
    if (!callback) [[likely]]
      continue;
    char text[256];
    const int length = sentence(text, sizeof text, function, static_cast<int>(result));
    callback(each.data.load(std::memory_order_relaxed), 0, text, static_cast<std::size_t>(length));
  }
}

namespace log {

void* add(Callback callback, void* data) noexcept {
  for (Listener& each : g_listeners) {
    if (each.taken.exchange(true)) continue;
    each.data.store(data, std::memory_order_relaxed);
    each.callback.store(callback, std::memory_order_release);
    return &each;
  }
  return nullptr;
}

bool remove(void* callback) noexcept {
  for (Listener& each : g_listeners) {
    if (&each != callback || !each.callback.exchange(nullptr)) continue;
    each.taken.store(false);
    return true;
  }
  return false;
}

std::uint32_t next() noexcept { return g_next.load(std::memory_order_relaxed); }

std::string lines(std::uint32_t since) {
  const std::uint32_t end = next();
  if (end - since > kLines) since = end - std::min(end, kLines);
  std::string text;
  for (std::uint32_t number = since; number != end; ++number) {
    const Refusal& refusal = g_refusals[number % kLines];
    if (refusal.number.load(std::memory_order_acquire) != number) continue;
    const time_t seconds = refusal.seconds.load(std::memory_order_relaxed);
    struct tm at {};
    ::localtime_r(&seconds, &at);
    char text_of_refusal[256], line[384];
    sentence(text_of_refusal, sizeof text_of_refusal,
             refusal.function.load(std::memory_order_relaxed),
             refusal.result.load(std::memory_order_relaxed));
    std::snprintf(line, sizeof line, "[%02d:%02d:%02d.%03d][%llu][CUDA][E] %s\n", at.tm_hour,
                  at.tm_min, at.tm_sec, refusal.milliseconds.load(std::memory_order_relaxed),
                  static_cast<unsigned long long>(refusal.thread.load(std::memory_order_relaxed)),
                  text_of_refusal);
    // Another thread overwrote the slot meanwhile: the text may mix two calls.
    if (refusal.number.load(std::memory_order_acquire) == number) text += line;
  }
  return text;
}

}  // namespace log

}  // namespace cuvmm::emulator
