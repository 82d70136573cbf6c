// SPDX-License-Identifier: Apache-2.0
// Names that the program gave to ranges of addresses and to memory of cuMemCreate.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rulebook/model/model.h"
#include "shim/base/owned_mutex.h"

namespace cuvmm::shim {

class Session;

/// Thread-safe. Asks the session's model for the object at an address, so that a name belongs to
/// the object that had it. A thread holds no lock of this class while it takes the model's lock.
class Names {
 public:
  /// The session whose model is asked; lives as long as this object.
  void ask(Session* session) { session_.store(session, std::memory_order_release); }

  /// `name` "" removes the names of the range. False: the model's lock is not free.
  bool name_range(Address base, Size size, std::string_view name);
  bool name_handle(Handle handle, std::string_view name);
  bool any() const { return any_.load(std::memory_order_relaxed); }
  /// The name of an object of a finding, "" none.
  std::string of(const ObjectRef& object);
  void clear();

  bool lock_for_fork() noexcept { return mutex_.lock_for_fork(); }
  void unlock_after_fork() CUVMM_UNCHECKED { mutex_.unlock(); }
  void restart_in_child(bool whole) CUVMM_UNCHECKED;

 private:
  struct Range {
    Size size = 0;
    std::uint64_t made = 0;  ///< the call that made the object around the range, 0 unknown
    std::string name;
  };
  struct Named {
    std::uint64_t made = 0;
    std::string name;
  };
  void erase_range(Address base, Size size) CUVMM_NEEDS(mutex_);
  std::string of_address(Address address);
  std::string of_handle(const ObjectRef& object);

  std::atomic<Session*> session_{nullptr};
  std::atomic<bool> any_{false};
  OwnedMutex mutex_;
  std::map<Address, Range> ranges_ CUVMM_GUARDED_BY(mutex_);
  std::unordered_map<Handle, Named> handles_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
