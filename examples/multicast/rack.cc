// SPDX-License-Identifier: Apache-2.0
// One rank of a program that runs on several hosts of one NVLink fabric, as a launcher starts it:
// rank 0 makes a multicast object and sends the 64 bytes of its fabric handle to the others over
// TCP. Each rank adds its device, binds memory, writes a byte through the multicast address, and
// finds the bytes of all ranks in its own memory.
//
//     CUVMM_EXAMPLE_MULTICAST=1 cuvmm rack --hosts 2 --devices 4 -- multicast_rack [--fail RANK]
//
// With --fail, that rank ends before its device is in the team.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "examples/bugs/bug.h"

namespace {

int number(const char* name) {
  const char* const text = std::getenv(name);
  if (!text) bug::skip("a launcher must start it: cuvmm rack, torchrun");
  return std::atoi(text);
}

[[noreturn]] void lost(const char* what) {
  std::printf("%s failed: another rank has ended\n", what);
  std::exit(1);
}

/// The connections between rank 0 and each other rank.
class Meeting {
 public:
  Meeting(int rank, int ranks) : rank_(rank) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(number("MASTER_PORT")));
    const char* const host = std::getenv("MASTER_ADDR");
    inet_pton(AF_INET, host ? host : "127.0.0.1", &address.sin_addr);
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    if (rank != 0) {
      for (int tries = 0; tries < 30000; ++tries) {  // five minutes: other ranks may start late
        const int peer = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(peer, at, sizeof address) == 0) {
          peers_.push_back(peer);
          return;
        }
        close(peer);
        usleep(10000);
      }
      lost("connect");
    }
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, at, sizeof address) != 0 || listen(listener, ranks) != 0) lost("listen");
    for (int peer = 1; peer < ranks; ++peer) peers_.push_back(accept(listener, nullptr, nullptr));
    close(listener);
  }

  /// Gives the bytes of rank 0 to all.
  void share(void* bytes, std::size_t size) {
    for (const int peer : peers_) {
      if (rank_ == 0) {
        if (send(peer, bytes, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) lost("send");
      } else if (recv(peer, bytes, size, MSG_WAITALL) != static_cast<ssize_t>(size)) {
        lost("receive");
      }
    }
  }
  /// Returns when every rank has come here.
  void meet() {
    char byte = 0;
    for (const int peer : peers_) {
      if (rank_ == 0 ? recv(peer, &byte, 1, 0) != 1 : send(peer, &byte, 1, MSG_NOSIGNAL) != 1) {
        lost("meeting");
      }
    }
    share(&byte, 1);
  }

 private:
  int rank_;
  std::vector<int> peers_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rank = number("RANK"), ranks = number("WORLD_SIZE"), device = number("LOCAL_RANK");
  const std::size_t size = bug::start(device);
  bug::need_multicast(1);
  Meeting meeting(rank, ranks);

  CUmulticastObjectProp prop = {};
  prop.numDevices = static_cast<unsigned>(ranks);
  prop.size = size;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  CUmemGenericAllocationHandle object = 0;
  CUmemFabricHandle bytes = {};
  if (rank == 0) {
    MUST(cuMulticastCreate(&object, &prop));
    MUST(cuMemExportToShareableHandle(&bytes, object, CU_MEM_HANDLE_TYPE_FABRIC, 0));
  }
  meeting.share(&bytes, sizeof bytes);
  if (rank != 0) {
    MUST(cuMemImportFromShareableHandle(&object, &bytes, CU_MEM_HANDLE_TYPE_FABRIC));
  }
  if (argc == 3 && std::strcmp(argv[1], "--fail") == 0 && std::atoi(argv[2]) == rank) return 3;
  MUST(cuMulticastAddDevice(object, device));
  meeting.meet();

  const CUmemAllocationProp memory_prop = bug::memory_on(device, CU_MEM_HANDLE_TYPE_FABRIC);
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr own = 0, all = 0;
  MUST(cuMemCreate(&memory, size, &memory_prop, 0));
  MUST(cuMulticastBindMem(object, 0, memory, 0, size, 0));
  MUST(cuMemAddressReserve(&own, size, 0, 0, 0));
  MUST(cuMemAddressReserve(&all, size, 0, 0, 0));
  MUST(cuMemMap(own, size, 0, memory, 0));
  MUST(cuMemMap(all, size, 0, object, 0));
  const CUmemAccessDesc access = bug::access_from(device);
  MUST(cuMemSetAccess(own, size, &access, 1));
  MUST(cuMemSetAccess(all, size, &access, 1));
  meeting.meet();
  const auto value = static_cast<unsigned char>(rank + 1);
  MUST(cuMemsetD8(all + static_cast<std::size_t>(rank), value, 1));
  meeting.meet();

  std::vector<unsigned char> found(static_cast<std::size_t>(ranks));
  MUST(cuMemcpyDtoH(found.data(), own, found.size()));
  int right = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    right += found[static_cast<std::size_t>(peer)] == peer + 1;
  }
  meeting.meet();
  MUST(cuMulticastUnbind(object, device, 0, size));
  MUST(cuMemUnmap(own, size));
  MUST(cuMemUnmap(all, size));
  MUST(cuMemRelease(memory));
  MUST(cuMemRelease(object));
  MUST(cuMemAddressFree(own, size));
  MUST(cuMemAddressFree(all, size));
  std::printf("%d of %d bytes arrived\n", right, ranks);
  return right == ranks ? 0 : 1;
}
