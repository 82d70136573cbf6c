// SPDX-License-Identifier: Apache-2.0
#include "tools/report/tree/process_end.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "tools/report/tree/proc_text.h"

namespace cuvmm::tools {

std::uint64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

void ThreadLooks::look(const std::string& folder, std::uint64_t ns, bool asleep) {
  std::istringstream words(proc_text(folder + "/schedstat"));
  std::uint64_t ran = 0, waited = 0;
  // A kernel that does not count these times writes 0.
  if (!(words >> ran >> waited) || ran == 0) return;
  if (looks_.size() == kMost) {
    looks_.erase(looks_.begin());
    sure_ -= std::min<std::size_t>(sure_, 1);
  }
  looks_.push_back({ns, waited});
  if (asleep) sure_ = looks_.size();
}

void ThreadLooks::forget_unsure() { looks_.resize(sure_); }

std::vector<ThreadLook> ThreadLooks::take() {
  sure_ = 0;
  return std::exchange(looks_, {});
}

}  // namespace cuvmm::tools
