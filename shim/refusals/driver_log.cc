// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/driver_log.h"

#include <pthread.h>

#include <algorithm>

namespace cuvmm::shim {

namespace {

// A line is "[17:41:46.730][140234474084160][CUDA][E] sentence".
struct Line {
  std::string_view thread, sentence;
};

Line parsed(std::string_view line) {
  Line found;
  for (int field = 0; field < 4; ++field) {
    const std::size_t end = line.find(']');
    if (!line.starts_with('[') || end == line.npos) return {};
    if (field == 1) found.thread = line.substr(1, end - 1);
    line.remove_prefix(end + 1);
  }
  if (line.starts_with(' ')) line.remove_prefix(1);
  found.sentence = line;
  return found;
}

// Matches "cuMemAlloc_v2" and "cuMemsetD8Async_ptsz", because the log has the names of symbols.
bool is_of(std::string_view sentence, std::string_view from) {
  const std::size_t at = sentence.rfind(from);
  if (at == sentence.npos) return false;
  const std::string_view rest = sentence.substr(at + from.size());
  return rest.empty() || rest.starts_with("_v") || rest.starts_with("_pt");
}

}  // namespace

std::string sentences_about(std::string_view function, std::string_view log,
                            unsigned long long thread) {
  const std::string mine = std::to_string(thread);
  const std::string from = " from " + std::string(function);
  std::string sentences, result;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    const Line line = parsed(log.substr(0, end));
    log.remove_prefix(end == log.npos ? log.size() : end + 1);
    if (line.thread != mine) continue;
    // The last sentence of each refused call repeats its function and result.
    if (line.sentence.starts_with("Returning ")) {
      result = is_of(line.sentence, from) ? sentences : std::string();
      sentences.clear();
    } else {
      sentences += (sentences.empty() ? "" : "; ") + std::string(line.sentence);
    }
  }
  return result;
}

std::string DriverLog::about(std::string_view function) const {
  if (!dump) return {};
  std::string text(16384, '\0');
  std::size_t size = text.size();
  unsigned since = 0;
  if (dump(&since, text.data(), &size, 0) != CUDA_SUCCESS) return {};
  text.resize(std::min({size, text.size(), text.find('\0')}));
  return sentences_about(function, text, ::pthread_self());
}

}  // namespace cuvmm::shim
