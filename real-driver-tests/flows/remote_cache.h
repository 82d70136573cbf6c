// SPDX-License-Identifier: Apache-2.0
// UCX's cache of memory that other processes shared. An opened entry is used again until the owner
// has other memory at that address. Entries in use stay; the oldest unused entry is closed first.
#pragma once

#include <functional>
#include <map>

#include "real-driver-tests/flows/flow.h"

namespace flow {

/// The key that the owner of memory sends to other processes.
template <class Handle>
struct Key {
  CUdeviceptr base = 0;  ///< in the owner's address space
  std::size_t size = 0;
  unsigned long long buffer_id = 0;
  Handle handle{};
};

template <class Handle>
class RemoteCache {
 public:
  using Open = std::function<CUdeviceptr(const Key<Handle>&)>;
  using Close = std::function<void(CUdeviceptr, std::size_t)>;

  RemoteCache(std::size_t most, Open open, Close close)
      : most_(most), open_(std::move(open)), close_(std::move(close)) {}

  /// The address of the memory in this process; put() ends its use.
  CUdeviceptr get(const Key<Handle>& key) {
    if (const auto old = regions_.find(key.base);
        old != regions_.end() && old->second.buffer_id != key.buffer_id) {
      drop(old);
    }
    auto found = regions_.find(key.base);
    if (found == regions_.end()) {
      evict();
      found = regions_.emplace(key.base, Region{open_(key), key.size, key.buffer_id}).first;
      ++opened;
    }
    ++found->second.users;
    found->second.used_at = ++clock_;
    return found->second.mapped;
  }
  void put(const Key<Handle>& key) { --regions_.at(key.base).users; }
  void purge() {
    while (!regions_.empty()) drop(regions_.begin());
  }

  int opened = 0;  ///< number of opens

 private:
  struct Region {
    CUdeviceptr mapped = 0;
    std::size_t size = 0;
    unsigned long long buffer_id = 0;
    int users = 0;
    unsigned used_at = 0;
  };
  using Regions = std::map<CUdeviceptr, Region>;

  void drop(typename Regions::iterator region) {
    close_(region->second.mapped, region->second.size);
    regions_.erase(region);
  }
  void evict() {
    while (regions_.size() >= most_) {
      auto oldest = regions_.end();
      for (auto i = regions_.begin(); i != regions_.end(); ++i) {
        const bool older = oldest == regions_.end() || i->second.used_at < oldest->second.used_at;
        if (i->second.users == 0 && older) oldest = i;
      }
      if (oldest == regions_.end()) return;
      drop(oldest);
    }
  }

  std::size_t most_;
  Open open_;
  Close close_;
  Regions regions_;
  unsigned clock_ = 0;
};

/// The buffer's id, which differs between memory and the memory that had its address before.
inline unsigned long long buffer_id(CUdeviceptr address) {
  unsigned long long id = 0;
  MUST(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
  return id;
}

/// The queries that UCX makes before it packs a key: the ways in which other processes can get this
/// memory.
struct Sharing {
  int legacy = 0;
  unsigned long long types = 0;
  CUmemoryPool pool = nullptr;
};
inline Sharing sharing_of(CUdeviceptr address) {
  Sharing sharing;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                 CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                                 CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  void* answers[] = {&sharing.legacy, &sharing.types, &sharing.pool};
  MUST(cuPointerGetAttributes(3, asked, answers, address));
  return sharing;
}

}  // namespace flow
