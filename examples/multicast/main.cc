// SPDX-License-Identifier: Apache-2.0
// One process per device sets up an all-reduce buffer that a multicast object spans. Rank 0 sends
// the object to the other ranks as a descriptor; each rank adds its device, binds its memory, maps
// both, and writes through the multicast address to all. `multicast --leave-out STEP` leaves one
// step out, or makes it out of order (see kSteps below); cuvmm then reports the mistake
// (examples/multicast_test.py).
//
// expects: nothing
// needs: 8 devices
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "examples/bugs/bug.h"
#include "examples/descriptor.h"

namespace {

constexpr int kRanks = 8;
// The possible mistakes; "none" is the correct program.
constexpr const char* kSteps[] = {"none",    "round-size",   "shareable", "add",
                                  "bind",    "barrier",      "access",    "unbind",
                                  "release", "unbind-first", "close"};

std::string left_out = "none";
bool without(const char* step) { return left_out == step; }

pthread_barrier_t* barrier;
void meet() { pthread_barrier_wait(barrier); }

pthread_barrier_t* make_barrier() {
  void* at = mmap(nullptr, sizeof(pthread_barrier_t), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::exit(1);
  auto* made = static_cast<pthread_barrier_t*>(at);
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(made, &attributes, kRanks);
  return made;
}

/// Rank 0 makes the object and sends it to the other ranks, which import it.
CUmemGenericAllocationHandle share(int rank, const CUmulticastObjectProp& prop,
                                   const int (&sockets)[kRanks][2]) {
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle object = 0;
  if (rank != 0) {
    const int fd = bug::receive_descriptor(sockets[rank][1]);
    MUST(cuMemImportFromShareableHandle(
        &object, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), type));
    close(fd);
    return object;
  }
  MUST(cuMulticastCreate(&object, &prop));
  int fd = -1;
  MUST(cuMemExportToShareableHandle(&fd, object, type, 0));
  for (int peer = 1; peer < kRanks; ++peer) bug::send_descriptor(sockets[peer][0], fd);
  if (!without("close")) close(fd);
  return object;
}

int run(int rank, const int (&sockets)[kRanks][2]) {
  const std::size_t granularity = bug::start(rank);
  bug::need_multicast();
  CUmulticastObjectProp prop = {};
  prop.numDevices = kRanks;
  prop.size = 3 * granularity / 2;
  prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t unit = 0;
  MUST(cuMulticastGetGranularity(&unit, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED));
  if (!without("round-size")) prop.size = (prop.size + unit - 1) / unit * unit;
  const std::size_t size = prop.size;

  const CUmemGenericAllocationHandle object = share(rank, prop, sockets);
  const bool late = without("barrier") && rank == kRanks - 1;
  if (!(without("add") && rank == kRanks - 1) && !late) {
    MUST(cuMulticastAddDevice(object, rank));
  }
  if (!without("barrier")) meet();  // no rank goes on before every device is in the team

  const CUmemAllocationProp memory_prop =
      bug::memory_on(rank, without("shareable") ? CU_MEM_HANDLE_TYPE_NONE
                                                : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr own = 0, all = 0;
  MUST(cuMemCreate(&memory, size, &memory_prop, 0));
  CUresult bound = CUDA_SUCCESS;
  if (!(without("bind") && rank == kRanks - 1) && !late) {
    bound = cuMulticastBindMem(object, 0, memory, 0, size, 0);
    if (bound != CUDA_SUCCESS) std::printf("rank %d: bind = %s\n", rank, bug::name(bound));
  }
  // All ranks take the next step, or none does.
  meet();
  if (late || without("barrier") || without("add") || bound != CUDA_SUCCESS) {
    MUST(cuMemRelease(memory));
    MUST(cuMemRelease(object));
    return 0;
  }
  MUST(cuMemAddressReserve(&own, size, 0, 0, 0));
  MUST(cuMemAddressReserve(&all, size, 0, 0, 0));
  MUST(cuMemMap(own, size, 0, memory, 0));
  MUST(cuMemMap(all, size, 0, object, 0));
  const CUmemAccessDesc access = bug::access_from(rank);
  MUST(cuMemSetAccess(own, size, &access, 1));
  if (!without("access")) MUST(cuMemSetAccess(all, size, &access, 1));
  meet();

  // Each rank writes a byte of its own through the multicast address.
  const CUdeviceptr place = all + static_cast<std::size_t>(rank);
  const auto value = static_cast<unsigned char>(rank + 1);
  if (cuMemsetD8(place, value, 1) != CUDA_SUCCESS) std::printf("rank %d cannot write\n", rank);
  meet();
  unsigned char bytes[kRanks] = {};
  MUST(cuMemcpyDtoH(bytes, own, sizeof bytes));
  bool complete = true;
  for (int peer = 0; peer < kRanks; ++peer) complete = complete && bytes[peer] == peer + 1;
  const bool spoiled = without("bind") || without("access");
  meet();

  if (without("unbind-first")) {
    MUST(cuMemUnmap(own, size));
    MUST(cuMemRelease(memory));
    const CUresult answer = cuMulticastUnbind(object, rank, 0, size);
    std::printf("rank %d: unbind = %s\n", rank, bug::name(answer));
  } else {
    if (!without("unbind") && !(without("bind") && rank == kRanks - 1)) {
      MUST(cuMulticastUnbind(object, rank, 0, size));
    }
    MUST(cuMemUnmap(own, size));
    MUST(cuMemRelease(memory));
  }
  MUST(cuMemUnmap(all, size));
  if (!without("release")) MUST(cuMemRelease(object));
  MUST(cuMemAddressFree(all, size));
  MUST(cuMemAddressFree(own, size));
  return complete == !spoiled ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--leave-out") == 0) left_out = argv[2];
  bool known = false;
  for (const char* step : kSteps) known = known || left_out == step;
  if (!known) {
    std::fprintf(stderr, "usage: multicast [--leave-out STEP]\nsteps:");
    for (const char* step : kSteps) std::fprintf(stderr, " %s", step);
    std::fprintf(stderr, "\n");
    return 2;
  }
  barrier = make_barrier();
  int sockets[kRanks][2];
  for (auto& pair : sockets) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) std::exit(run(rank, sockets));
    children.push_back(child);
  }
  int code = 0;
  for (int status = 0; wait(&status) > 0;) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    // A rank that failed comes to no further meeting, so the others would wait for ever.
    if (code == 0) {
      code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      for (const pid_t child : children) kill(child, SIGTERM);
    }
  }
  return code;
}
