// SPDX-License-Identifier: Apache-2.0
#include "tools/live/sharing/sharing.h"

#include <fmt/core.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <set>

#include "api/words.h"
#include "tools/live/sharing/open_files.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostCompared =
    256;  // descriptors of one process, because each costs a call of kcmp

// The open descriptors of a process whose link has this name.
std::vector<int> descriptors_to(int pid, const std::string& link) {
  std::vector<int> found = open_descriptors(pid, ~std::size_t{0});
  std::erase_if(found, [&](int fd) { return link_of(pid, fd) != link; });
  if (found.size() > kMostCompared) found.resize(kMostCompared);
  return found;
}

// The inode identifies a regular file, such as the emulator's memory. Device files share an inode,
// so kcmp compares them.
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

// Whether the memory was found from the other process before. Then `how` replaces the plain
// descriptor.
bool tell_again(std::vector<SharedMemory>& all, int pid, int fd, const std::string& how) {
  const std::string plain = fmt::format("descriptor {}", fd);
  for (SharedMemory& memory : all) {
    for (SharedMemory::Holder& holder : memory.holders) {
      if (holder.pid != pid || holder.how != plain) continue;
      holder.how = how;
      return true;
    }
  }
  return false;
}

// Adds the other processes that have this very file open.
void add_openers(const holdings::Descriptor& mine, int pid, const std::vector<int>& pids,
                 SharedMemory& memory) {
  const int fd = mine.exported.fd;
  const std::string link = link_of(pid, fd);
  if (link.empty()) return;  // closed meanwhile
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

std::vector<SharedMemory> shared_memory(const std::vector<holdings::View>& views) {
  const std::vector<int> pids = processes_of_user();
  std::map<std::uint64_t, SharedMemory> named;
  std::vector<SharedMemory> all;
  const auto add = [&](std::uint64_t name, std::uint64_t size, int pid, std::string how) {
    SharedMemory& memory = named[name];
    if (memory.size == 0) memory.size = size;
    memory.holders.push_back({pid, std::move(how)});
  };
  for (const holdings::View& view : views) {
    const holdings::Snapshot now = view.snapshot();
    std::size_t compared = 0;
    for (const holdings::Descriptor& d : now.descriptors) {
      const bool received = d.kind == holdings::Descriptor::Kind::kReceived;
      const std::string how =
          fmt::format("{}descriptor {}", received ? "received " : "", d.exported.fd);
      if (tell_again(all, view.pid(), d.exported.fd, how)) continue;
      SharedMemory memory{d.exported.size, {}};
      if (compared++ < kMostCompared) add_openers(d, view.pid(), pids, memory);
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
    for (const holdings::MemoryHeld& m : now.memory) {
      if (m.shared == 0) continue;
      add(m.shared, m.allocation.size, view.pid(),
          (m.allocation.imported ? "import " : "handle ") + hex_text(m.allocation.handle));
    }
    for (const holdings::Piece& p : now.pieces) {
      if (p.kind != holdings::Piece::Kind::kIpc) continue;
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
