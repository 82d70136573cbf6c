// SPDX-License-Identifier: Apache-2.0
#include "shim/history/process_history.h"

#include <sys/stat.h>

#include <new>

#include "rulebook/vmm/left_dma_buf.h"

namespace cuvmm::shim {

bool ProcessHistory::still_exported(const Export& one) const {
  const auto made = exported.find(one.fd);
  if (made == exported.end()) return false;
  const DescriptorIdentity now = identify_descriptor(one.fd);
  return now != DescriptorIdentity{} && now == made->second;
}

bool ProcessHistory::exports_allocation(int fd) const {
  const auto found = model.exports().find(fd);
  return found != model.exports().end() && still_exported(found->second);
}

std::uint64_t ProcessHistory::exported_size(int fd) const {
  const auto found = model.exports().find(fd);
  if (found == model.exports().end() || !still_exported(found->second)) return 0;
  // Device files share one inode: so a number that is used again for another export looks equal.
  struct stat file;
  if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
  return found->second.size;
}

bool ProcessHistory::still_open(const Received& dma_buf) const {
  const DescriptorIdentity now = identify_descriptor(dma_buf.one.fd);
  return now != DescriptorIdentity{} && now == dma_buf.identity;
}

void ProcessHistory::add_left_dma_bufs(Violations& leaks) const {
  for (const auto& [fd, one] : received) {
    if (!one.dma_buf || !still_open(one)) continue;
    leaks.append(check_left(model, {fd, one.base, one.one.size, one.one.made, one.memory}));
  }
}

void ProcessHistory::forget_descriptor(int fd) {
  model.closed(fd);
  exported.erase(fd);
  received.erase(fd);
  exported_pools.erase(fd);
}

bool ProcessHistory::end_descriptor(int fd, bool open, const Origin& at) {
  const auto made = model.exports().find(fd);
  const auto came = received.find(fd);
  ClosedDescriptor known{{}, at};
  if (made != model.exports().end() && still_exported(made->second)) {
    known.made = made->second.made;
  } else if (came != received.end()) {
    known.made = came->second.one.made;
  } else {
    open = false;  // another file has the number now
  }
  forget_descriptor(fd);
  if (open) model.closed(fd, known);
  return open;
}

bool ProcessHistory::duplicate(int from, int to, const Origin& at) {
  if (exports_allocation(from)) {
    Export second = model.exports().at(from);
    second.fd = to;
    second.made = at;
    DescriptorIdentity identity = identify_descriptor(to);
    model.restore(second);
    exported[to] = std::move(identity);
    return true;
  }
  const auto pool = exported_pools.find(from);
  if (pool != exported_pools.end() && still_exported(pool->second)) {
    Export second = pool->second;
    second.fd = to;
    second.made = at;
    exported[to] = identify_descriptor(to);
    exported_pools[to] = second;
    return true;
  }
  const auto found = received.find(from);
  if (found == received.end()) return false;
  Received second = found->second;
  second.one.fd = to;
  second.one.made = at;
  received[to] = second;
  return true;
}

void ProcessHistory::clear() {
  model.clear();
  exported.clear();
  ipc_log.clear();
  causes.clear();
  imported.clear();
  received.clear();
  exported_pools.clear();
  plain_ended = 0;
}

void ProcessHistory::abandon() {
  new (&model) Model();
  new (&exported) decltype(exported)();
  new (&ipc_log) IpcLog();
  new (&causes) Causes();
  new (&imported) decltype(imported)();
  new (&received) decltype(received)();
  new (&exported_pools) decltype(exported_pools)();
}

}  // namespace cuvmm::shim
