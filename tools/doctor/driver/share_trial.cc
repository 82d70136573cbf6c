// SPDX-License-Identifier: Apache-2.0
// One process exports memory and another process maps it. The handle travels as libraries send it:
// a descriptor over SCM_RIGHTS, or the bytes of a fabric handle.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "api/posix/pass_descriptor.h"
#include "tools/doctor/driver/driver_trials.h"
#include "tools/doctor/driver/trial_driver.h"

namespace cuvmm::doctor {

namespace {

// One exported granule.
struct Parcel {
  std::int32_t device;
  std::uint64_t size;
  unsigned char handle[64];
};

bool is_descriptor(CUmemAllocationHandleType type) {
  return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

bool send_parcel(int socket, Parcel& parcel, int fd) {
  iovec part{&parcel, sizeof parcel};
  return send_with_descriptor(socket, {&part, 1}, fd) == static_cast<ssize_t>(sizeof parcel);
}

bool receive_parcel(int socket, Parcel& parcel, int& fd) {
  iovec part{&parcel, sizeof parcel};
  return receive_with_descriptor(socket, {&part, 1}, fd) == static_cast<ssize_t>(sizeof parcel);
}

CUresult import_and_map(TrialDriver& driver, CUmemAllocationHandleType type, Parcel& parcel,
                        int fd) {
  void* handle = is_descriptor(type) ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd))
                                     : static_cast<void*>(parcel.handle);
  CUmemGenericAllocationHandle imported = 0;
  CUresult code = driver(calls::MemImportFromShareableHandle{
      .handle = &imported, .osHandle = handle, .shHandleType = type});
  if (code != CUDA_SUCCESS) return code;
  Granule granule(driver);
  granule.adopt(imported, parcel.size);
  code = granule.map();
  if (code == CUDA_SUCCESS) code = granule.allow(driver.device(parcel.device));
  return code == CUDA_SUCCESS ? granule.give_back() : code;
}

}  // namespace

void try_export(const std::string& path, CUmemAllocationHandleType type, int socket,
                const Reporter& say) {
  TrialDriver driver(path, say);
  for (int i = 0; i < driver.devices(); ++i) {
    const std::string key = "device." + std::to_string(i);
    Granule granule(driver);
    CUresult code = granule.create(driver.device(i), type);
    Parcel parcel{i, granule.size(), {}};
    int fd = -1;
    if (code == CUDA_SUCCESS) {
      void* out = is_descriptor(type) ? static_cast<void*>(&fd) : parcel.handle;
      code = driver(calls::MemExportToShareableHandle{
          .shareableHandle = out, .handle = granule.handle(), .handleType = type});
    }
    if (code == CUDA_SUCCESS) {
      say.step("sendmsg");
      char done = 0;
      // The exporter frees the memory only after the importer has mapped it, because a fabric
      // handle does not hold the memory.
      if (!send_parcel(socket, parcel, fd) || read(socket, &done, 1) != 1) {
        say.fact(key + ".lost", 1);
      }
    }
    if (fd >= 0) close(fd);
    driver.report(key, code);
  }
}

void try_import(const std::string& path, CUmemAllocationHandleType type, int socket,
                const Reporter& say) {
  TrialDriver driver(path, say);
  if (!driver.started()) return;
  for (;;) {
    Parcel parcel{};
    int fd = -1;
    say.step("recvmsg");
    if (!receive_parcel(socket, parcel, fd)) return;
    driver.report("device." + std::to_string(parcel.device),
                  import_and_map(driver, type, parcel, fd));
    if (fd >= 0) close(fd);
    const char done = 1;
    if (write(socket, &done, 1) != 1) return;
  }
}

}  // namespace cuvmm::doctor
