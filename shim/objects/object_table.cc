// SPDX-License-Identifier: Apache-2.0
#include "shim/objects/object_table.h"

#include <new>

namespace cuvmm::shim {

const char* words(PlainObject::Kind kind) {
  using K = PlainObject::Kind;
  switch (kind) {
    case K::kStream:
      return "stream";
    case K::kEvent:
      return "event";
    case K::kContext:
      return "context";
    case K::kGreenContext:
      return "green context";
    case K::kRetain:
      return "retain of a primary context";
    case K::kModule:
      return "module";
    case K::kLibrary:
      return "library";
    case K::kGraph:
      return "graph";
    case K::kExecutableGraph:
      return "executable graph";
    case K::kCount:
      break;
  }
  return "?";
}

namespace {

template <class Counts>
void add_one(Counts& counts, int device, StackId stack) noexcept {
  try {
    ++counts[{device, stack}];
  } catch (...) {
    // Out of memory, as in add().
  }
}

}  // namespace

ObjectTable& object_table() noexcept {
  alignas(ObjectTable) static std::byte storage[sizeof(ObjectTable)];
  static ObjectTable* const table = new (storage) ObjectTable();
  return *table;
}

// A graph that is captured into goes on to be the one that was made first.
void ObjectTable::add(const PlainObject& object) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  try {
    const bool new_handle = object.kind != PlainObject::Kind::kGraph;
    const Key key(object.kind, object.value);
    if (new_handle) {
      objects_.insert_or_assign(key, object);
    } else {
      objects_.try_emplace(key, object);
    }
  } catch (...) {
    // Out of memory: it is one that nobody will miss.
  }
}

std::optional<PlainObject> ObjectTable::take(PlainObject::Kind kind, std::uint64_t value) noexcept {
  if (mutex_.held_here()) return std::nullopt;
  const Locked lock(mutex_);
  const auto found = objects_.find({kind, value});
  if (found == objects_.end()) return std::nullopt;
  const PlainObject taken = found->second;
  objects_.erase(found);
  return taken;
}

bool ObjectTable::is_made(std::uint64_t context) noexcept {
  if (mutex_.held_here()) return false;
  const Locked lock(mutex_);
  return objects_.contains({PlainObject::Kind::kContext, context});
}

template <class Ends>
void ObjectTable::end(Ends ends) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  std::erase_if(objects_, [&](const auto& one) {
    return one.second.ends_with_context() && ends(one.second);
  });
}

void ObjectTable::end_context(std::uint64_t context) noexcept {
  end([&](const PlainObject& object) { return object.context == context; });
}

void ObjectTable::end_primary(int device) noexcept {
  end([&](const PlainObject& object) { return object.device == device; });
}

void ObjectTable::retained(int device, StackId stack) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  add_one(retained_, device, stack);
}

void ObjectTable::released(int device, StackId stack) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  add_one(released_, device, stack);
}

std::optional<ObjectTable::All> ObjectTable::all(std::chrono::milliseconds limit) {
  if (!mutex_.lock_within(limit)) return std::nullopt;
  const Locked lock(mutex_, kHeldAlready);
  All all;
  for (const auto& [key, object] : objects_) all.objects.push_back(object);
  const auto list = [](const Count& counts, std::vector<Retains>& out) {
    for (const auto& [key, count] : counts) out.push_back({key.first, key.second, count});
  };
  list(retained_, all.retained);
  list(released_, all.released);
  return all;
}

bool ObjectTable::lock_for_fork() noexcept {
  if (mutex_.held_here()) return false;
  mutex_.lock();
  return true;
}

void ObjectTable::clear(bool whole) {
  if (!whole) {
    // Their nodes may point anywhere: they are left behind.
    new (&objects_) decltype(objects_)();
    new (&retained_) decltype(retained_)();
    new (&released_) decltype(released_)();
  }
  objects_.clear();
  retained_.clear();
  released_.clear();
}

}  // namespace cuvmm::shim
