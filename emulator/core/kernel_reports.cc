// SPDX-License-Identifier: Apache-2.0
#include "emulator/core/kernel_reports.h"

#include <atomic>
#include <deque>
#include <mutex>

#define CUVMM_SHOWN extern "C" __attribute__((visibility("default")))
CUVMM_SHOWN int cuvmmEmulatorTakeKernelReport(cuvmm::KernelReport* out);
CUVMM_SHOWN std::uint64_t cuvmmEmulatorLaunch();

namespace cuvmm::emulator {

namespace {

struct Kept {
  std::mutex mutex;
  std::deque<KernelReport> reports;
  std::atomic<bool> any{false};
};

Kept& kept() {
  static Kept& only = *new Kept;  // threads outlive main
  return only;
}

thread_local std::uint64_t t_launch = 0;

}  // namespace

std::uint64_t begin_launch() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return t_launch = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void keep_report(const KernelReport& report) {
  constexpr std::size_t kMost = 4096;
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  if (all.reports.size() < kMost) all.reports.push_back(report);
  all.any.store(true, std::memory_order_release);
}

}  // namespace cuvmm::emulator

int cuvmmEmulatorTakeKernelReport(cuvmm::KernelReport* out) {
  auto& all = cuvmm::emulator::kept();
  if (!all.any.load(std::memory_order_acquire)) return 0;
  const std::lock_guard lock(all.mutex);
  if (!all.reports.empty()) {
    *out = all.reports.front();
    all.reports.pop_front();
    return 1;
  }
  all.any.store(false, std::memory_order_release);
  return 0;
}

std::uint64_t cuvmmEmulatorLaunch() { return cuvmm::emulator::t_launch; }
