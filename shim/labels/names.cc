// SPDX-License-Identifier: Apache-2.0
#include "shim/labels/names.h"

#include <chrono>
#include <iterator>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "shim/findings/entry.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForNames{1000};
constexpr std::size_t kMostMappings = 65536;  // of a range that is named

// The call that made the object around an address; 0 unknown.
std::uint64_t made_around(const Model& model, Address address) {
  if (const Reservation* r = model.reservation_at(address)) return r->made.call;
  const PlainMemory* const plain = model.memory().at(address);
  return plain ? plain->made.call : 0;
}

}  // namespace

void Names::erase_range(Address base, Size size) {
  std::erase_if(ranges_, [&](const auto& known) {
    return overlap(known.first, known.second.size, base, size);
  });
}

bool Names::name_range(Address base, Size size, std::string_view name) {
  Range range{size, 0, std::string(name)};
  std::vector<std::pair<Handle, std::uint64_t>> memory;
  if (Session* const session = session_.load(std::memory_order_acquire)) {
    const auto asked = session->with_model_within(kPatienceForNames, [&](const Model& model) {
      range.made = made_around(model, base);
      const auto& mappings = model.mappings();
      for (auto at = model.first_mapping_after(base);
           at != mappings.end() && overlap(at->first, at->second.size, base, size) &&
           memory.size() < kMostMappings;
           ++at) {
        if (const Allocation* a = model.allocation(at->second.handle))
          memory.emplace_back(a->handle, a->made.call);
      }
      return true;
    });
    if (!asked) return false;
  }
  const Locked lock(mutex_);
  erase_range(base, size);
  if (!name.empty()) ranges_.emplace(base, std::move(range));
  for (const auto& [handle, made] : memory) {
    if (name.empty()) {
      handles_.erase(handle);
    } else {
      handles_[handle] = {made, std::string(name)};
    }
  }
  any_.store(!ranges_.empty() || !handles_.empty(), std::memory_order_relaxed);
  return true;
}

bool Names::name_handle(Handle handle, std::string_view name) {
  std::uint64_t made = 0;
  if (Session* const session = session_.load(std::memory_order_acquire)) {
    const auto asked = session->with_model_within(kPatienceForNames, [&](const Model& model) {
      if (const Allocation* a = model.allocation(handle)) made = a->made.call;
      return true;
    });
    if (!asked) return false;
  }
  const Locked lock(mutex_);
  if (name.empty()) {
    handles_.erase(handle);
  } else {
    handles_[handle] = {made, std::string(name)};
  }
  any_.store(!ranges_.empty() || !handles_.empty(), std::memory_order_relaxed);
  return true;
}

std::string Names::of(const ObjectRef& object) {
  if (!any()) return {};
  const bool handle =
      object.kind == ObjectRef::Kind::kAllocation || object.kind == ObjectRef::Kind::kRetained;
  if (handle) return of_handle(object);
  return is_address(object.kind) ? of_address(object.value) : std::string();
}

std::string Names::of_address(Address address) {
  std::uint64_t now = 0;
  if (Session* const session = session_.load(std::memory_order_acquire)) {
    const auto made = session->with_model_within(
        kPatienceForNames, [&](const Model& model) { return made_around(model, address); });
    now = made.value_or(0);
  }
  if (!mutex_.lock_within(kPatienceForNames)) return {};
  const Locked lock(mutex_, kHeldAlready);
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return {};
  const auto& [base, range] = *std::prev(after);
  const bool inside = address - base < range.size;
  // The object at the address may be newer than the name. If no object is there, the name is that
  // of an object which has ended.
  const bool same = now == 0 || now == range.made;
  return inside && same ? range.name : std::string();
}

std::string Names::of_handle(const ObjectRef& object) {
  {
    if (!mutex_.lock_within(kPatienceForNames)) return {};
    const Locked lock(mutex_, kHeldAlready);
    const auto known = handles_.find(object.value);
    if (known != handles_.end() && known->second.made == object.made.call)
      return known->second.name;
    if (ranges_.empty()) return {};
  }
  // The memory may have been mapped after the range got its name.
  Session* const session = session_.load(std::memory_order_acquire);
  if (!session) return {};
  constexpr std::size_t kMostLooks = 4096;
  const auto base = session->with_model_within(kPatienceForNames, [&](const Model& model) {
    std::size_t looks = 0;
    for (const auto& [at, mapping] : model.mappings()) {
      if (mapping.handle == object.value) return at;
      if (++looks == kMostLooks) break;
    }
    return Address{0};
  });
  return base.value_or(0) != 0 ? of_address(*base) : std::string();
}

void Names::clear() {
  const Locked lock(mutex_);
  ranges_.clear();
  handles_.clear();
  any_.store(false, std::memory_order_relaxed);
}

// The child's model starts empty, so the child has none of the named objects.
void Names::restart_in_child(bool whole) {
  if (!whole) {
    new (&ranges_) decltype(ranges_)();
    new (&handles_) decltype(handles_)();
  }
  ranges_.clear();
  handles_.clear();
  any_.store(false, std::memory_order_relaxed);
}

}  // namespace cuvmm::shim
