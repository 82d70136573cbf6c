// SPDX-License-Identifier: Apache-2.0
#include "tools/live/process_view.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "frames/interleave.h"
#include "frames/runtime_frames.h"
#include "frames/stack_text.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/usage.h"
#include "tools/crash/crash_symbols.h"

namespace cuvmm::tools {

namespace {

int parent_of(int pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  return 0;
}

}  // namespace

holdings::View view_of(int pid, const std::string& folder) {
  std::vector<std::string> problems;
  std::vector<holdings::View> views = holdings::open_all(folder, problems);
  for (const std::string& problem : problems) print_error("cuvmm: {}\n", problem);
  std::string others;
  for (holdings::View& view : views) {
    if (view.pid() == pid) return std::move(view);
    others += (others.empty() ? "" : ", ") + std::to_string(view.pid());
  }
  if (const std::string file = holdings::unfinished_file_of(pid, folder); !file.empty()) {
    throw UsageError{fmt::format(
        "process {} shows nothing: {}; somebody cut the file off, or the process is making "
        "it at this moment",
        pid, file)};
  }
  throw UsageError{fmt::format(
      "process {} shows nothing in {}: it must have been started by cuvmm run, and hold "
      "something; {}",
      pid, folder, others.empty() ? "no process does" : "these do: " + others)};
}

std::string closed_to_us(int pid) {
  const std::string maps = fmt::format("/proc/{}/maps", pid);
  const int fd = ::open(maps.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) ::close(fd);
  if (fd >= 0 || (errno != EACCES && errno != EPERM)) return {};
  return fmt::format(
      "{}: {}. So native functions have no names, and exported descriptors count as closed. "
      "Look as the user and the group of the process, or as root",
      maps, std::strerror(errno));
}

std::vector<holdings::View> tree_of(int root, std::vector<holdings::View> views) {
  std::vector<holdings::View> inside;
  for (holdings::View& view : views) {
    std::set<int> seen;
    for (int pid = view.pid(); pid > 0 && seen.insert(pid).second; pid = parent_of(pid)) {
      if (pid != root) continue;
      inside.push_back(std::move(view));
      break;
    }
  }
  return inside;
}

LiveStacks::LiveStacks(const holdings::View& view) : view_(view) {
  std::ifstream file(fmt::format("/proc/{}/maps", view.pid()));
  maps_.assign(std::istreambuf_iterator<char>(file), {});
}

const std::vector<frames::Frame>& LiveStacks::frames(std::uint32_t id) {
  const auto [found, fresh] = known_.try_emplace(id);
  if (fresh) {
    found->second =
        frames::with_python_frames(crash_frames(maps_, view_.stack(id)), view_.python(id));
    // The user's stack begins at the program's call of the runtime.
    frames::take_runtime_frames(found->second);
  }
  return found->second;
}

std::string LiveStacks::text(std::uint32_t id, const std::string& indent) {
  const std::vector<frames::Frame>& all = frames(id);
  const bool python = std::ranges::any_of(all, &frames::Frame::python);
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!python || !frames::of_interpreter(all[i])) text += indent + frame_line(i, all[i]) + "\n";
  }
  return text;
}

std::string LiveStacks::place(std::uint32_t id) { return frames::place_text(frames(id)); }

std::vector<std::string> LiveStacks::lines(std::uint32_t id) {
  std::vector<std::string> lines;
  for (const frames::Frame& frame : frames(id)) lines.push_back(frame_line(lines.size(), frame));
  return lines;
}

}  // namespace cuvmm::tools
