// SPDX-License-Identifier: Apache-2.0
// Stands between the session and the driver (--guard, --quarantine, --poison): it asks the driver
// for other ranges than the program asked for, and neither the program nor the session sees a
// difference. docs/testing/guards.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "api/driver/driver.h"
#include "shim/base/owned_mutex.h"
#include "shim/guard/memories.h"
#include "shim/guard/poison.h"
#include "shim/guard/spans.h"
#include "shim/settings/guard_options.h"

namespace cuvmm::shim {

/// Thread-safe. Holds no lock across a call of the driver.
class Guard {
 public:
  /// `driver` is the driver itself: its own functions, not those that lead to the guard.
  Guard(const Driver& driver, GuardOptions options, bool emulated)
      : driver_(driver),
        options_(options),
        emulated_(emulated),
        spans_(options.quarantine),
        poison_(driver_, emulated) {}
  /// A guard with this driver and these settings, without any ranges: for a child of fork.
  Guard* fresh() const { return new Guard(driver_, options_, emulated_); }

  // Each function makes the call, or a call in its place, and returns the answer that the program
  // gets.
  CUresult make(const calls::MemAddressReserve& call);
  CUresult make(const calls::MemAddressFree& call);
  CUresult make(const calls::MemMap& call);
  CUresult make(const calls::MemUnmap& call);
  CUresult make(const calls::MemSetAccess& call);
  CUresult make(const calls::MemCreate& call);
  CUresult make(const calls::MemRelease& call);
  CUresult make(const calls::MemRetainAllocationHandle& call);
  CUresult make(const calls::MemImportFromShareableHandle& call);
  CUresult make(const calls::MemExportToShareableHandle& call);
  CUresult make(const calls::MemGetHandleForAddressRange& call);
  CUresult make(const calls::MulticastBindMem& call);
  CUresult make(const calls::MulticastBindMem_v2& call);
  CUresult make(const calls::MulticastBindAddr& call);
  CUresult make(const calls::MulticastBindAddr_v2& call);
  CUresult make(const calls::MemGetAddressRange& call);
  CUresult make(const calls::PointerGetAttribute& call);

  using Attributes = CUresult (*)(unsigned, CUpointer_attribute*, void**, CUdeviceptr);
  /// Makes cuPointerGetAttributes, by the driver's function.
  CUresult make(Attributes function, unsigned count, CUpointer_attribute* attributes, void** data,
                CUdeviceptr address);

  Poison& poison() { return poison_; }

  /// Passes to `tell` a sentence about each protection that the options want and that was not
  /// possible; called at the end of the process.
  void tell_missing(const std::function<void(std::string)>& tell);
  /// Visits each range of the driver's that the program must not use, or no longer.
  enum class Part { kBefore, kBehind, kFreed };
  void each_forbidden(
      const std::function<void(Part, std::uint64_t base, std::uint64_t size)>& visit);

 private:
  /// The position of an address, which decides the question to the driver about it.
  struct Place {
    bool inside = false;     ///< in a range that the program knows, and that has a guard
    bool forbidden = false;  ///< in a guard, or in a freed range
    Span span;
  };
  Place place_of(std::uint64_t address);
  static void translate(const Place& place, int attribute, std::uint64_t address, void* data);

  std::uint64_t margin_for(std::uint64_t alignment);
  CUresult reserve(const calls::MemAddressReserve& call);
  bool reserve_guarded(const calls::MemAddressReserve& call, std::uint64_t margin, Span& span);
  void free_all(const std::vector<Span>& spans);
  void poison_new(const std::vector<MappedMemory>& mappings, const calls::MemSetAccess& call);

  template <class CallStruct>
  CUresult share(const CallStruct& call, std::uint64_t handle);
  template <class CallStruct>
  CUresult share_range(const CallStruct& call);

  const Driver driver_;
  const GuardOptions options_;
  const bool emulated_;
  OwnedMutex mutex_;
  Spans spans_ CUVMM_GUARDED_BY(mutex_);
  Memories memories_ CUVMM_GUARDED_BY(mutex_);
  Poison poison_;
  std::atomic<std::uint64_t> granule_{0};  ///< asked for once; 0: not yet
  std::atomic<std::uint64_t> reservations_{0}, unguarded_{0}, early_{0};
};

/// The guard of this process; null if none of the options is set.
inline constinit std::atomic<Guard*> g_guard{nullptr};

/// Replaces the driver's functions in `table` by the guard's functions.
void lead_to_guard(Driver& table);

/// A function that the shim intercepts only for the guard; null if no guard is wanted, or if the
/// function is not one of these. `driver_function` is the driver's function.
void* guarded_function(const char* name, void* driver_function);

}  // namespace cuvmm::shim
