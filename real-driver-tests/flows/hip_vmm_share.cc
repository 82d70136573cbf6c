// SPDX-License-Identifier: Apache-2.0
// Shares memory of cuMemCreate as hip-tests do: the descriptor goes by SCM_RIGHTS to a child that
// is forked before the driver starts; each side maps the memory and reads the other's bytes; and a
// process imports its own export.
//
// expects: nothing
#include "examples/bugs/process.h"
#include "real-driver-tests/flows/descriptor.h"
#include "real-driver-tests/flows/flow.h"

namespace {

constexpr auto kPosix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
int ends[2];

CUmemGenericAllocationHandle import(int fd) {
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemImportFromShareableHandle(
      &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), kPosix));
  close(fd);
  return handle;
}

int parent(const bug::Peer& child) {
  const std::size_t size = bug::start();
  const flow::Mapped m = flow::map_new(size, kPosix);
  MUST(cuMemsetD8(m.address, 1, size));
  MUST(cuCtxSynchronize());
  int fd = -1;
  MUST(cuMemExportToShareableHandle(&fd, m.handle, kPosix, 0));
  bug::send_descriptor(ends[0], fd);
  child.send(size);

  const CUmemGenericAllocationHandle own = import(fd);
  CUmemAllocationProp prop = {};
  SAW(CUDA_SUCCESS, cuMemGetAllocationPropertiesFromHandle(&prop, own));
  HOLD(prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop.location.id == 0);
  SAW(CUDA_SUCCESS, cuMemRelease(own));

  child.wait();
  HOLD(flow::filled(m.address, size, 2));
  SAW(CUDA_SUCCESS, cuMemRelease(m.handle));
  flow::unmap(m.address, size);
  child.done();
  return bug::verdict();
}

int child(const bug::Peer& parent) {
  const int fd = bug::receive_descriptor(ends[1]);
  const auto size = parent.receive<std::size_t>();
  bug::start();
  const CUmemGenericAllocationHandle handle = import(fd);
  CUdeviceptr address = 0;
  MUST(cuMemAddressReserve(&address, size, 0, 0, 0));
  flow::map_at(address, size, handle);
  HOLD(flow::filled(address, size, 1));
  MUST(cuMemsetD8(address, 2, size));
  MUST(cuCtxSynchronize());
  parent.done();
  parent.wait();
  HOLD(flow::filled(address, size, 2));  // the memory lives as long as one process holds it
  flow::unmap(address, size);
  SAW(CUDA_SUCCESS, cuMemRelease(handle));
  return bug::verdict();
}

}  // namespace

int main() {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  return bug::in_two_processes(parent, child);
}
