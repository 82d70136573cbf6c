// SPDX-License-Identifier: Apache-2.0
// Memory of a device: its size is libcuda's; the memory in use is that of this process alone,
// because an emulated device's memory is host memory of each process.
#include <dlfcn.h>

#include <string>

#include "emulator/base/export.h"
#include "emulator/nvml/abi.h"
#include "emulator/nvml/on_machine.h"

namespace cuvmm::nvml {

namespace {

using UsedMemory = std::uint64_t(int device);

// Finds a function of the emulator's own libcuda, which lies beside this library. A shim is a
// libcuda too, and would count the call as the program's. Null where libcuda is not loaded, because
// then no memory is in use.
UsedMemory* find_used_memory() {
  Dl_info own{};
  if (!dladdr(reinterpret_cast<const void*>(&find_used_memory), &own) || !own.dli_fname) {
    return nullptr;
  }
  std::string path = own.dli_fname;
  path.resize(path.rfind('/') + 1);
  void* library = dlopen((path + "libcuda.so.1").c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  const auto found = reinterpret_cast<UsedMemory*>(dlsym(library, "cuvmmEmulatorUsedMemory"));
  // Releases the reference that this function took; the emulator is never unloaded.
  dlclose(library);
  return found;
}

template <class Info>
Error write_memory(const Machine& machine, int device, Info& out) {
  UsedMemory* const ask = find_used_memory();
  out.total = machine.device_memory();
  out.used = ask ? ask(device) : 0;
  out.free = out.total - out.used;
  return kSuccess;
}

}  // namespace

CUVMM_EXPORT(Error, nvmlDeviceGetMemoryInfo, Handle handle, Memory* out) {
  return on_device(handle, [&](const Machine& machine, int device) -> Error {
    return out ? write_memory(machine, device, *out) : kInvalidArgument;
  });
}

CUVMM_EXPORT(Error, nvmlDeviceGetMemoryInfo_v2, Handle handle, MemoryV2* out) {
  return on_device(handle, [&](const Machine& machine, int device) -> Error {
    if (!out) return kInvalidArgument;
    if (out->version != version_word<MemoryV2>(2)) return kArgumentVersionMismatch;
    out->reserved = 0;
    return write_memory(machine, device, *out);
  });
}

}  // namespace cuvmm::nvml
