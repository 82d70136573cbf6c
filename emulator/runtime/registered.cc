// SPDX-License-Identifier: Apache-2.0
#include "emulator/runtime/registered.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace cuvmm::runtime {

namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1, kBinaryMagic = 0xba55ed50;
constexpr std::uint16_t kPtx = 1, kMachineCode = 2;

struct Wrapper {
  std::uint32_t magic, version;
  const std::byte* binary;
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
  const auto binary = read<BinaryHeader>(wrapper.binary);
  if (binary.magic != kBinaryMagic) return {};
  const std::byte* at = wrapper.binary + binary.header_bytes;
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

// Never destroyed, because other libraries' destructors may still ask.
struct Registered {
  std::mutex mutex;
  std::map<const void*, const Wrapper*> of_function;
};
Registered& registered() {
  alignas(Registered) static std::byte storage[sizeof(Registered)];
  static Registered* const all = new (storage) Registered();
  return *all;
}

const Wrapper kNoWrapper{0, 0, nullptr};

}  // namespace

// The handle is the wrapper's address, which the program only passes on.
void** register_binary(const void* wrapper) noexcept {
  const void* const handle = wrapper ? wrapper : &kNoWrapper;
  return static_cast<void**>(const_cast<void*>(handle));
}

void register_function(void** binary, const void* function) noexcept {
  if (!binary || !function) return;
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  try {
    all.of_function[function] = reinterpret_cast<const Wrapper*>(binary);
  } catch (const std::bad_alloc&) {
    // Then its version is not known.
  }
}

CodeVersion code_version(const void* function, int gpu) noexcept {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of_function.find(function);
  return found == all.of_function.end() ? CodeVersion{} : best_in(*found->second, gpu);
}

}  // namespace cuvmm::runtime
