// SPDX-License-Identifier: Apache-2.0
#include "tools/live/sharing.h"

#include <dirent.h>
#include <fmt/core.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>

#include "api/words.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostCompared = 256;  // descriptors of one process: each is a call of kcmp

std::string link_of(int pid, int fd) {
  char target[512];
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

// Open descriptors of a process that are of files by this name.
std::vector<int> descriptors_to(int pid, const std::string& link) {
  std::vector<int> found;
  DIR* const names = ::opendir(fmt::format("/proc/{}/fd", pid).c_str());
  if (!names) return found;
  while (const dirent* const entry = ::readdir(names)) {
    if (entry->d_name[0] == '.' || found.size() == kMostCompared) continue;
    const int fd = std::atoi(entry->d_name);
    if (link_of(pid, fd) == link) found.push_back(fd);
  }
  ::closedir(names);
  return found;
}

bool same_file(int pid, int fd, int other_pid, int other_fd) {
  return ::syscall(SYS_kcmp, pid, other_pid, KCMP_FILE, fd, other_fd) == 0;
}

SharedMemory compare(const live::Descriptor& mine, int pid, const std::vector<live::View>& views) {
  SharedMemory memory{mine.exported.size, {}};
  const int fd = mine.exported.fd;
  memory.holders.push_back({pid, fmt::format("descriptor {}", fd)});
  const std::string link = link_of(pid, fd);
  if (link.empty()) return memory;
  for (const live::View& other : views) {
    if (other.pid() == pid) continue;
    for (const int theirs : descriptors_to(other.pid(), link)) {
      if (!same_file(pid, fd, other.pid(), theirs)) continue;
      memory.holders.push_back({other.pid(), fmt::format("descriptor {}", theirs)});
      break;
    }
  }
  return memory;
}

}  // namespace

std::vector<SharedMemory> shared_memory(const std::vector<live::View>& views) {
  std::map<std::uint64_t, SharedMemory> named;
  std::vector<SharedMemory> all;
  const auto add = [&](std::uint64_t name, std::uint64_t size, int pid, std::string how) {
    SharedMemory& memory = named[name];
    if (memory.size == 0) memory.size = size;
    memory.holders.push_back({pid, std::move(how)});
  };
  for (const live::View& view : views) {
    const live::Snapshot now = view.snapshot();
    std::size_t compared = 0;
    for (const live::Descriptor& d : now.descriptors) {
      if (d.shared != 0) {
        add(d.shared, d.exported.size, view.pid(), fmt::format("descriptor {}", d.exported.fd));
      } else if (compared++ < kMostCompared) {
        SharedMemory memory = compare(d, view.pid(), views);
        if (memory.holders.size() > 1) all.push_back(std::move(memory));
      }
    }
    for (const live::MemoryHeld& m : now.memory) {
      if (m.shared == 0) continue;
      add(m.shared, m.allocation.size, view.pid(), "import " + hex_text(m.allocation.handle));
    }
    for (const live::Piece& p : now.pieces) {
      if (p.kind != live::Piece::Kind::kIpc) continue;
      add(p.more, p.size, view.pid(), "IPC memory " + hex_text(p.base));
    }
  }
  for (auto& [name, memory] : named) {
    std::set<int> pids;
    for (const SharedMemory::Holder& holder : memory.holders) pids.insert(holder.pid);
    if (pids.size() > 1) all.push_back(std::move(memory));
  }
  return all;
}

std::string sharing_text(const std::vector<SharedMemory>& shared) {
  std::string text;
  for (const SharedMemory& memory : shared) {
    text += (memory.size ? size_text(memory.size) : std::string("memory")) + ":";
    for (const SharedMemory::Holder& holder : memory.holders) {
      text += fmt::format(" {} ({})", holder.pid, holder.how);
    }
    text += "\n";
  }
  return text;
}

}  // namespace cuvmm::tools
