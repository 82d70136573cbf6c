// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/thread_state.h"

#include <cstdlib>
#include <sstream>

#include "tools/report/tree/proc_text.h"

namespace cuvmm::tools {

ThreadState thread_state_of(const std::string& stat) {
  // The second field, in brackets, may hold any characters.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(stat.substr(name_end + 1));
  ThreadState found;
  constexpr int kState = 3, kStart = 22, kStartStack = 28;
  std::string word;
  for (int field = kState; field <= kStartStack && words >> word; ++field) {
    if (field == kState) found.state = word[0];
    if (field == kStart) found.start = std::strtoull(word.c_str(), nullptr, 10);
    if (field == kStartStack) found.start_stack = std::strtoull(word.c_str(), nullptr, 10);
  }
  return found;
}

ThreadState thread_state(const std::string& folder) {
  return thread_state_of(proc_text(folder + "/stat"));
}

}  // namespace cuvmm::tools
