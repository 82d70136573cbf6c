// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/held_memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/location.h"

namespace cuvmm::shim {

namespace {

class Summing {
 public:
  explicit Summing(int device) : device_(device) {}

  void allocations(const Model& model) {
    std::set<Handle> exported;
    for (const auto& [fd, each] : model.exports()) exported.insert(each.handle);
    for (const auto& [handle, a] : model.allocations()) {
      const bool here = a.prop_known && device_of(a.prop.location) == device_;
      if (!here || a.imported || a.multicast) continue;
      (a.mappings != 0 ? held_.mapped : held_.unmapped) += a.size;
      if (exported.contains(handle)) held_.exported += a.size;
      by(a.made, a.size);
    }
  }
  void pools(const Model& model) {
    for (const auto& [base, memory] : model.pools().memory()) {
      if (memory.imported || device_of(memory.location) != device_) continue;
      held_.pools += memory.size;
      by(memory.made, memory.size);
    }
  }
  void plain(const Model& model) {
    for (const auto& [base, memory] : model.memory().all()) {
      if (memory.kind > PlainMemory::Kind::kPitched || memory.device != device_) continue;
      held_.plain += memory.size;
      by(memory.made, memory.size);
    }
  }
  HeldMemory take() {
    for (const auto& [stack, creator] : creators_) held_.creators.push_back(creator);
    std::ranges::sort(held_.creators, [](const auto& a, const auto& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.stack < b.stack;
    });
    if (held_.creators.size() > kMostCreators) held_.creators.resize(kMostCreators);
    return std::move(held_);
  }

 private:
  void by(const Origin& made, std::uint64_t bytes) {
    HeldMemory::Creator& creator = creators_[made.stack];
    creator.stack = made.stack;
    creator.bytes += bytes;
    ++creator.count;
  }

  const int device_;
  HeldMemory held_;
  std::map<StackId, HeldMemory::Creator> creators_;
};

}  // namespace

HeldMemory held_memory(const Model& model, int device) {
  Summing sum(device);
  sum.allocations(model);
  sum.pools(model);
  sum.plain(model);
  return sum.take();
}

}  // namespace cuvmm::shim
