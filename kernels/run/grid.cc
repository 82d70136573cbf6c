// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/grid.h"

#include <atomic>
#include <cstdio>

namespace cuvmm::kernels {

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Grid::Grid(const Code& code, const Shape& shape, const std::vector<char>& parameters,
           Memory& memory, std::uint64_t steps, Watcher* watcher)
    : code_(code),
      shape_(shape),
      parameters_(parameters),
      memory_(memory),
      most_steps_(steps),
      watcher_(watcher),
      number_(next_number()) {}

void Grid::print(std::string_view text) {
  constexpr std::size_t kMuch = 1 << 16;
  printed_ += text;
  if (printed_.size() > kMuch) flush();
}

void Grid::flush() {
  if (printed_.empty()) return;
  std::fwrite(printed_.data(), 1, printed_.size(), stdout);
  std::fflush(stdout);
  printed_.clear();
}

}  // namespace cuvmm::kernels
