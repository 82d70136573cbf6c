// SPDX-License-Identifier: Apache-2.0
// Limits of this process that stop shared memory or large reservations.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/doctor/check.h"
#include "tools/doctor/host/host.h"

namespace cuvmm::doctor {

/// Linux's default for the soft limit of open files; usual programs stay below it.
inline constexpr std::uint64_t kUsualFiles = 1024;
/// Bytes that llama.cpp reserves for its pool, on any device (ggml-org/llama.cpp#29142).
inline constexpr std::uint64_t kUsualReservation = 32ull << 30;

struct FileLimit {
  std::uint64_t soft = 0, hard = 0;             ///< UINT64_MAX: no limit
  std::uint64_t open = 0;                       ///< descriptors that this process has open
  std::optional<std::uint64_t> by_driver = {};  ///< descriptors that a started driver holds open
};
FileLimit read_file_limit();
Check judge_files(const FileLimit& limit);

struct AddressSpace {
  std::uint64_t soft = 0, hard = 0;  ///< bytes; UINT64_MAX: no limit
  std::uint64_t used = 0;            ///< bytes of this process
  std::uint64_t largest = 0;         ///< bytes that one mmap() can get; found by trial
  std::uint64_t devices = 0;         ///< bytes of memory of all devices; 0: not known
};
/// Reserves address space without memory behind it, and frees it before returning.
AddressSpace try_address_space(const Host& host);
Check judge_address_space(const AddressSpace& space);

Check check_shm(const Host& host);

/// "64 GiB", "1.5 GiB", "512 MiB"; "unlimited" for UINT64_MAX.
std::string bytes_text(std::uint64_t bytes);

}  // namespace cuvmm::doctor
