// SPDX-License-Identifier: Apache-2.0
#include "emulator/runtime/registered.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace cuvmm::runtime {

namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1, kBinaryMagic = 0xba55ed50;
constexpr std::uint16_t kPtx = 1, kMachineCode = 2;

struct Wrapper {
  std::uint32_t magic, version;
  const std::byte* binary;
  const std::byte* const* inputs;  ///< version 2: what nvcc linked, up to a null pointer
};
/// The beginning of a fat binary, and of each of its entries; `size` is that of what follows.
struct BinaryHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t size;
};
struct EntryHeader {
  std::uint16_t kind, unused;
  std::uint32_t header_bytes;
  std::uint64_t size;
  std::uint32_t compressed_bytes, options;
  std::uint16_t minor, major;
  std::uint32_t gpu;
};
static_assert(sizeof(BinaryHeader) == 16 && sizeof(EntryHeader) == 32);

template <class Header>
Header read(const std::byte* at) {
  Header header;
  std::memcpy(&header, at, sizeof header);
  return header;
}

// Runs on a GPU of this major version, with an equal or larger minor one.
bool runs_on(int code, int gpu) { return code / 10 == gpu / 10 && code <= gpu; }

CodeVersion best_in(const Wrapper& wrapper, int gpu) {
  CodeVersion ptx, machine;
  if (wrapper.magic != kWrapperMagic || !wrapper.binary) return {};
  // nvcc compiles the files that it links for the same GPUs. The linked binary has no PTX.
  const bool linked = wrapper.version == 2 && wrapper.inputs && *wrapper.inputs;
  const std::byte* const begin = linked ? *wrapper.inputs : wrapper.binary;
  const auto binary = read<BinaryHeader>(begin);
  if (binary.magic != kBinaryMagic) return {};
  const std::byte* at = begin + binary.header_bytes;
  for (std::uint64_t left = binary.size; left >= sizeof(EntryHeader);) {
    const auto entry = read<EntryHeader>(at);
    if (entry.header_bytes < sizeof entry || entry.header_bytes > left ||
        entry.size > left - entry.header_bytes)
      break;
    const int code = static_cast<int>(entry.gpu);
    if (entry.kind == kMachineCode && runs_on(code, gpu) && code > machine.binary) {
      machine = {code, code};
    } else if (entry.kind == kPtx && code <= gpu && code > ptx.ptx) {
      ptx = {code, gpu};
    }
    at += entry.header_bytes + entry.size;
    left -= entry.header_bytes + entry.size;
  }
  return machine.binary != 0 ? machine : ptx;
}

/// A fat binary, and the library that the driver made of it.
struct Binary {
  const Wrapper* wrapper = nullptr;
  std::mutex loading;  // held while the driver reads the code
  bool tried = false;
  Error error = cudaSuccess;  ///< of the load
  CUlibrary library = nullptr;
  std::vector<std::pair<void**, std::string>> managed{};  ///< pointers in the program, names
};
struct Named {
  Binary* binary = nullptr;
  std::string name{};
  CUkernel kernel = nullptr;
};

// Never destroyed, because other libraries' destructors may still ask.
struct Registered {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Binary>> binaries;  // by handle
  std::map<const void*, Named> functions;                   // by the program's address
  std::map<const void*, Named> variables;                   // likewise
};
Registered& registered() {
  alignas(Registered) static std::byte storage[sizeof(Registered)];
  static Registered* const all = new (storage) Registered();
  return *all;
}

// A handle of a binary for which there was no memory.
Binary* unknown_binary() {
  alignas(Binary) static std::byte storage[sizeof(Binary)];
  static Binary* const none = new (storage) Binary();
  return none;
}

// Runs `body` under the lock. Without memory, the thing stays unknown.
template <class Body>
void under_lock(Body&& body) noexcept {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  try {
    body(all);
  } catch (const std::bad_alloc&) {
    return;
  }
}

Binary* binary_of(void** handle) { return reinterpret_cast<Binary*>(handle); }

// Under the binary's lock. The driver writes the variables' initial contents at this time.
void place(const Driver& driver, const Binary& binary) {
  for (const auto& [pointer, name] : binary.managed) {
    CUdeviceptr address = 0;
    std::size_t size = 0;
    if (ask(driver.cuLibraryGetManaged, &address, &size, binary.library, name.c_str()) ==
        cudaSuccess)
      *pointer = reinterpret_cast<void*>(address);
  }
}

Error load(const Driver& driver, Binary& binary) {
  const std::lock_guard lock(binary.loading);
  if (!binary.tried) {
    if (!binary.wrapper) return cudaErrorInvalidKernelImage;
    binary.error = ask(driver.cuLibraryLoadData, &binary.library, binary.wrapper, nullptr, nullptr,
                       0u, nullptr, nullptr, 0u);
    binary.tried = true;
    if (binary.error == cudaSuccess) place(driver, binary);
  }
  return binary.error;
}

}  // namespace

void** register_binary(const void* wrapper) noexcept {
  Binary* made = unknown_binary();
  under_lock([&](Registered& all) {
    auto binary = std::make_unique<Binary>();
    binary->wrapper = static_cast<const Wrapper*>(wrapper);
    Binary* const address = binary.get();
    all.binaries.emplace(address, std::move(binary));
    made = address;
  });
  return reinterpret_cast<void**>(made);
}

void unregister_binary(void** handle) noexcept {
  std::unique_ptr<Binary> ended;
  under_lock([&](Registered& all) {
    const auto found = all.binaries.find(handle);
    if (found == all.binaries.end()) return;
    ended = std::move(found->second);
    all.binaries.erase(found);
    std::erase_if(all.functions, [&](auto& each) { return each.second.binary == ended.get(); });
    std::erase_if(all.variables, [&](auto& each) { return each.second.binary == ended.get(); });
  });
  if (!ended || !ended->library) return;
  Error error = cudaSuccess;
  if (const Driver* const driver = driver_for(Streams::kLegacy, error))
    ask(driver->cuLibraryUnload, ended->library);
}

void register_function(void** handle, const void* function, const char* name) noexcept {
  under_lock([&](Registered& all) {
    if (handle && function && name) all.functions[function] = {binary_of(handle), name};
  });
}

void register_variable(void** handle, const void* variable, const char* name) noexcept {
  under_lock([&](Registered& all) {
    if (handle && variable && name) all.variables[variable] = {binary_of(handle), name};
  });
}

void register_managed(void** handle, void** pointer, const char* name) noexcept {
  under_lock([&](Registered& all) {
    if (!handle || !pointer || !name) return;
    all.variables[pointer] = {binary_of(handle), name};
    binary_of(handle)->managed.emplace_back(pointer, name);
  });
}

Error find_kernel(const Driver& driver, const void* function, CUkernel& kernel) {
  kernel = nullptr;
  Registered& all = registered();
  Named named;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.functions.find(function);
    if (found == all.functions.end()) return cudaSuccess;
    if (found->second.kernel) {
      kernel = found->second.kernel;
      return cudaSuccess;
    }
    named = found->second;
  }
  Error error = load(driver, *named.binary);
  if (error != cudaSuccess) return error;
  error = ask(driver.cuLibraryGetKernel, &kernel, named.binary->library, named.name.c_str());
  if (error == cudaErrorSymbolNotFound) return cudaErrorInvalidDeviceFunction;
  if (error != cudaSuccess) return error;
  const std::lock_guard lock(all.mutex);
  const auto found = all.functions.find(function);
  if (found != all.functions.end()) found->second.kernel = kernel;
  return cudaSuccess;
}

Error find_variable(const Driver& driver, const void* variable, CUdeviceptr* place,
                    std::size_t* size) {
  Registered& all = registered();
  Named named;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.variables.find(variable);
    if (found == all.variables.end()) return cudaErrorInvalidSymbol;
    named = found->second;
  }
  const Error error = load(driver, *named.binary);
  if (error != cudaSuccess) return error;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const Error found =
      ask(driver.cuLibraryGetGlobal, &address, &bytes, named.binary->library, named.name.c_str());
  if (place) *place = address;
  if (size) *size = bytes;
  return found == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : found;
}

Error place_managed(const Driver& driver, void** binary) {
  return load(driver, *binary_of(binary));
}

CodeVersion code_version(const void* function, int gpu) noexcept {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const auto found = all.functions.find(function);
  if (found == all.functions.end() || !found->second.binary->wrapper) return {};
  return best_in(*found->second.binary->wrapper, gpu);
}

}  // namespace cuvmm::runtime
