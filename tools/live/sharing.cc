// SPDX-License-Identifier: Apache-2.0
#include "tools/live/sharing.h"

#include <dirent.h>
#include <fmt/core.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
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

// Of a regular file, as the emulator's memory is, the inode tells; device files share theirs.
bool same_file(int pid, int fd, int other_pid, int other_fd) {
  struct stat mine {
  }, theirs{};
  const auto look = [](int of, int descriptor, struct stat& status) {
    return ::stat(fmt::format("/proc/{}/fd/{}", of, descriptor).c_str(), &status) == 0;
  };
  if (look(pid, fd, mine) && look(other_pid, other_fd, theirs) && S_ISREG(mine.st_mode)) {
    return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
  }
  return ::syscall(SYS_kcmp, pid, other_pid, KCMP_FILE, fd, other_fd) == 0;
}

// All processes of this user, those too that make no call of CUDA: a worker that was forked keeps
// what it inherited.
std::vector<int> processes_of_user() {
  std::vector<int> pids;
  DIR* const names = ::opendir("/proc");
  if (!names) return pids;
  while (const dirent* const entry = ::readdir(names)) {
    const int pid = std::atoi(entry->d_name);
    struct stat status {};
    if (pid <= 0 || ::stat(fmt::format("/proc/{}", pid).c_str(), &status) != 0) continue;
    if (status.st_uid == ::geteuid()) pids.push_back(pid);
  }
  ::closedir(names);
  return pids;
}

// Who else has this very file open.
void add_openers(const live::Descriptor& mine, int pid, const std::vector<int>& pids,
                 SharedMemory& memory) {
  const int fd = mine.exported.fd;
  const std::string link = link_of(pid, fd);
  if (link.empty()) return;  // closed since
  for (const int other : pids) {
    if (other == pid) continue;
    for (const int theirs : descriptors_to(other, link)) {
      if (!same_file(pid, fd, other, theirs)) continue;
      memory.holders.push_back({other, fmt::format("descriptor {}", theirs)});
      break;
    }
  }
}

}  // namespace

std::vector<SharedMemory> shared_memory(const std::vector<live::View>& views) {
  const std::vector<int> pids = processes_of_user();
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
      SharedMemory memory{d.exported.size, {}};
      if (compared++ < kMostCompared) add_openers(d, view.pid(), pids, memory);
      const std::string how = fmt::format("descriptor {}", d.exported.fd);
      if (d.shared == 0) {
        memory.holders.insert(memory.holders.begin(), {view.pid(), how});
        all.push_back(std::move(memory));
        continue;
      }
      add(d.shared, d.exported.size, view.pid(), how);
      for (SharedMemory::Holder& holder : memory.holders) {
        add(d.shared, d.exported.size, holder.pid, std::move(holder.how));
      }
    }
    for (const live::MemoryHeld& m : now.memory) {
      if (m.shared == 0) continue;
      add(m.shared, m.allocation.size, view.pid(),
          (m.allocation.imported ? "import " : "handle ") + hex_text(m.allocation.handle));
    }
    for (const live::Piece& p : now.pieces) {
      if (p.kind != live::Piece::Kind::kIpc) continue;
      add(p.more, p.size, view.pid(), "IPC memory " + hex_text(p.base));
    }
  }
  for (auto& [name, memory] : named) all.push_back(std::move(memory));
  std::erase_if(all, [](const SharedMemory& memory) {
    std::set<int> holders;
    for (const SharedMemory::Holder& holder : memory.holders) holders.insert(holder.pid);
    return holders.size() < 2;
  });
  return all;
}

std::string sharing_text(const std::vector<SharedMemory>& shared) {
  std::string text;
  for (const SharedMemory& memory : shared) {
    text += (memory.size ? size_text(memory.size) : std::string("memory")) + ":";
    for (const SharedMemory::Holder& holder : memory.holders) {
      text += fmt::format(" {} ({})", holder.pid, holder.how);
    }
    text += '\n';
  }
  return text;
}

}  // namespace cuvmm::tools
