// SPDX-License-Identifier: Apache-2.0
// Memory of a device: its size is libcuda's; the memory in use is that of this process alone,
// because an emulated device's memory is host memory of each process.
#include <dlfcn.h>
#include <unistd.h>

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

void write_instances(ProcessInfoV1&) {}
void write_instances(ProcessInfo& info) {
  constexpr unsigned kNone = 0xFFFFFFFF;
  info.gpu_instance = info.compute_instance = kNone;
}

// Lists this process if it uses memory of the device. PyTorch asks when the memory is exhausted,
// and takes an error for a bug.
template <class Info>
Error list_processes(Handle handle, unsigned* count, Info* infos) {
  return on_device(handle, [&](const Machine&, int device) -> Error {
    if (!count) return kInvalidArgument;
    UsedMemory* const ask = find_used_memory();
    const std::uint64_t used = ask ? ask(device) : 0;
    const unsigned capacity = *count;
    *count = used > 0 ? 1 : 0;
    if (capacity < *count) return kInsufficientSize;
    if (*count == 0) return kSuccess;
    if (!infos) return kInvalidArgument;
    infos[0] = {};
    infos[0].process = static_cast<unsigned>(getpid());
    infos[0].used = used;
    write_instances(infos[0]);
    return kSuccess;
  });
}

}  // namespace

CUVMM_EXPORT(Error, nvmlDeviceGetComputeRunningProcesses, Handle handle, unsigned* count,
             ProcessInfoV1* infos) {
  return list_processes(handle, count, infos);
}

CUVMM_EXPORT(Error, nvmlDeviceGetComputeRunningProcesses_v3, Handle handle, unsigned* count,
             ProcessInfo* infos) {
  return list_processes(handle, count, infos);
}
CUVMM_EXPORT_ALIAS(nvmlDeviceGetComputeRunningProcesses_v2,
                   nvmlDeviceGetComputeRunningProcesses_v3);

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
