// SPDX-License-Identifier: Apache-2.0
// Fuzzes the 64 bytes of an IPC handle: a genuine handle and the page of its file, with bytes of
// the input in some places. The first byte chooses the kind of the handle; pairs of place and byte
// follow. Places from 64 on lie in the page.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "emulator/machine/ticket.h"

namespace cuvmm::emulator {
namespace {

constexpr std::uint64_t kSize = 4096;  // of the memory, and of the page behind it
using Page = std::array<unsigned char, 4096>;

struct Genuine {
  int fd = -1;
  IpcBytes name{};
  Page page{};
  std::size_t at = 0;  ///< place of the name in the page
};

const Genuine& genuine() {
  static const Genuine only = [] {
    Genuine g;
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 1;
    g.fd = create_shareable(kSize, prop);
    if (g.fd < 0 || !issue_ticket(g.fd, TicketKind::kIpcMemory, 100, 0, g.name) ||
        pread(g.fd, g.page.data(), g.page.size(), kSize) != static_cast<ssize_t>(g.page.size()))
      __builtin_trap();
    const auto found = std::search(g.page.begin(), g.page.end(), g.name.begin(), g.name.end());
    if (found == g.page.end()) __builtin_trap();
    g.at = static_cast<std::size_t>(found - g.page.begin());
    return g;
  }();
  return only;
}

}  // namespace
}  // namespace cuvmm::emulator

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuvmm::emulator;
  if (size == 0) return 0;
  const Genuine& real = genuine();
  auto name = real.name;
  Page page = real.page;
  for (std::size_t i = 1; i + 1 < size; i += 2) {
    const std::size_t place = data[i];
    if (place < name.size()) {
      name[place] = data[i + 1];
    } else {
      // The trailer of the file comes first in its page, then the name.
      const std::size_t there = place - name.size();
      page[there < 64 ? there : real.at + (there - 64) % 64] = data[i + 1];
    }
  }
  if (pwrite(real.fd, page.data(), page.size(), kSize) != static_cast<ssize_t>(page.size()))
    return 0;
  const auto asked = static_cast<TicketKind>(1 + data[0] % 4);
  const Followed followed = follow_ticket(name, asked, 3);
  const bool same = std::equal(name.begin(), name.end(), page.begin() + real.at);
  if (followed.fd >= 0) {
    // A handle that is accepted must stand in the page, byte for byte, with the kind that was asked
    // for.
    if (!same || followed.ticket.kind != asked || followed.ticket.size > kSize) __builtin_trap();
    close(followed.fd);
  } else if (asked == TicketKind::kIpcMemory && name == real.name && page == real.page) {
    __builtin_trap();
  }
  return 0;
}
