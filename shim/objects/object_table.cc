// SPDX-License-Identifier: Apache-2.0
#include "shim/objects/object_table.h"

#include <algorithm>
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
    case K::kTexture:
      return "texture object";
    case K::kSurface:
      return "surface object";
    case K::kUserObject:
      return "user object";
    case K::kFunction:
      return "function";
    case K::kGlobal:
      return "global";
    case K::kNode:
      return "graph node";
    case K::kCount:
      break;
  }
  return "?";
}

ObjectRef::Kind object_kind(PlainObject::Kind kind) {
  using K = PlainObject::Kind;
  using Ref = ObjectRef::Kind;
  switch (kind) {
    case K::kStream:
      return Ref::kStream;
    case K::kEvent:
      return Ref::kEvent;
    case K::kContext:
      return Ref::kContext;
    case K::kGreenContext:
      return Ref::kGreenContext;
    case K::kModule:
      return Ref::kModule;
    case K::kLibrary:
      return Ref::kLibrary;
    case K::kGraph:
      return Ref::kGraph;
    case K::kExecutableGraph:
      return Ref::kExecutableGraph;
    case K::kTexture:
      return Ref::kTexture;
    case K::kSurface:
      return Ref::kSurface;
    case K::kUserObject:
      return Ref::kUserObject;
    case K::kFunction:
      return Ref::kFunction;
    case K::kGlobal:
      return Ref::kMemory;
    case K::kNode:
      return Ref::kNode;
    case K::kRetain:
    case K::kCount:
      break;
  }
  return Ref::kCount;
}

namespace {

template <class Counts>
void add_one(Counts& counts, int device, StackId stack) noexcept {
  try {
    ++counts[{device, stack}];
  } catch (...) {
    // Out of memory: ignored, as in add().
  }
}

}  // namespace

ObjectTable& object_table() noexcept {
  alignas(ObjectTable) static std::byte storage[sizeof(ObjectTable)];
  static ObjectTable* const table = new (storage) ObjectTable();
  return *table;
}

// A graph into which a stream captures stays the graph that was made first.
void ObjectTable::add(const PlainObject& object) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  try {
    const bool new_handle = object.kind != PlainObject::Kind::kGraph;
    const Key key(object.kind, object.value);
    unbury(key);
    if (new_handle) {
      drop_parts(key);
      objects_.insert_or_assign(key, object);
    } else if (objects_.try_emplace(key, object).second) {
      kernel_nodes_.end_graph(object.value);
    }
  } catch (...) {
    // Out of memory: then the object is missing in the lists.
  }
}

std::optional<PlainObject> ObjectTable::take(PlainObject::Kind kind, std::uint64_t value) noexcept {
  if (mutex_.held_here()) return std::nullopt;
  const Locked lock(mutex_);
  const Key key(kind, value);
  try {
    if (!ended_.contains(key)) ending_.insert(key);
  } catch (...) {
    // Out of memory: then no finding will say that the object ended.
  }
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  const PlainObject taken = found->second;
  objects_.erase(found);
  return taken;
}

void ObjectTable::bury(Key key, StackId made, Origin at, bool with_context, std::uint64_t size) {
  makers_.insert(made);
  if (at.call == 0) return;
  Order& order = order_[static_cast<std::size_t>(key.first)];
  const std::uint64_t number = ++ended_count_;
  order.emplace_back(key.second, number);
  if (ended_.insert_or_assign(key, Ended{made, with_context, at, number, size}).second)
    g_ended.add(key.second);
  if (order.size() <= kMostEnded) return;
  const auto [value, oldest] = order.front();
  order.pop_front();
  const auto found = ended_.find({key.first, value});
  if (found == ended_.end() || found->second.number != oldest) return;
  ended_.erase(found);
  g_ended.remove(value);
}

void ObjectTable::unbury(Key key) noexcept {
  ending_.erase(key);
  if (ended_.erase(key) != 0) g_ended.remove(key.second);
}

void ObjectTable::ended(PlainObject::Kind kind, std::uint64_t value, StackId made,
                        Origin at) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  const Key key(kind, value);
  if (ending_.erase(key) == 0) return;
  bury_parts(key, made, at, false);
  if (kind == PlainObject::Kind::kGraph) kernel_nodes_.end_graph(value);
  if (kind == PlainObject::Kind::kNode) kernel_nodes_.end_node(value);
  if (kind == PlainObject::Kind::kExecutableGraph) kernel_nodes_.execute(value, {});
  try {
    bury(key, made, at, false);
  } catch (...) {
    unbury(key);  // out of memory
  }
}

void ObjectTable::refer(std::uint64_t value, std::int64_t change) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  const auto found = objects_.find({PlainObject::Kind::kUserObject, value});
  if (found == objects_.end()) return;
  const std::int64_t left = std::int64_t{found->second.flags} + change;
  if (left > 0) {
    found->second.flags = static_cast<unsigned>(left);
    return;
  }
  try {
    makers_.insert(found->second.made);
  } catch (...) {
    // Out of memory: then the place counts as one whose objects never end.
  }
  objects_.erase(found);
}

void ObjectTable::drop_part(Key part) noexcept {
  const auto found = wholes_.find(part);
  if (found == wholes_.end()) return;
  parts_.erase({found->second.key, part});
  wholes_.erase(found);
}

void ObjectTable::put_part(Key part, Key whole, std::uint64_t size) noexcept {
  unbury(part);
  const auto found = wholes_.find(part);
  if (found != wholes_.end() && found->second.key == whole) return;
  drop_part(part);
  try {
    parts_.emplace(whole, part);
    wholes_.emplace(part, Whole{whole, size});
  } catch (...) {
    parts_.erase({whole, part});  // out of memory: no finding will say that the part ended
  }
}

void ObjectTable::drop_parts(Key whole) noexcept {
  auto one = parts_.lower_bound({whole, Key{}});
  while (one != parts_.end() && one->first == whole) {
    wholes_.erase(one->second);
    one = parts_.erase(one);
  }
}

void ObjectTable::bury_parts(Key whole, StackId made, Origin at, bool with_context) noexcept {
  auto one = parts_.lower_bound({whole, Key{}});
  for (; one != parts_.end() && one->first == whole; ++one) {
    const Key part = one->second;
    try {
      bury(part, made, at, with_context, wholes_.at(part).size);
    } catch (...) {
      unbury(part);  // out of memory
    }
  }
  drop_parts(whole);
}

void ObjectTable::add_part(PlainObject::Kind kind, std::uint64_t value,
                           PlainObject::Kind whole_kind, std::uint64_t whole,
                           std::uint64_t size) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  put_part({kind, value}, {whole_kind, whole}, size);
}

void ObjectTable::add_part_beside(PlainObject::Kind kind, std::uint64_t value,
                                  std::uint64_t other) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  const Key part(kind, value);
  const auto found = wholes_.find({kind, other});
  if (found != wholes_.end()) {
    put_part(part, Key(found->second.key), 0);
  } else {
    unbury(part);
    drop_part(part);
  }
}

void ObjectTable::stays(PlainObject::Kind kind, std::uint64_t value,
                        const std::optional<PlainObject>& taken) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  ending_.erase({kind, value});
  try {
    if (taken) objects_.try_emplace({kind, value}, *taken);
  } catch (...) {
    // Out of memory: ignored, as in add().
  }
}

void ObjectTable::forget(PlainObject::Kind kind, std::uint64_t value) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  unbury({kind, value});
}

void ObjectTable::forget_all(PlainObject::Kind kind) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  std::erase_if(ending_, [&](const Key& key) { return key.first == kind; });
  std::erase_if(ended_, [&](const auto& one) {
    if (one.first.first != kind) return false;
    g_ended.remove(one.first.second);
    return true;
  });
}

std::optional<EndedObject> ObjectTable::find_ended(PlainObject::Kind kind,
                                                   std::uint64_t value) noexcept {
  if (mutex_.held_here()) return std::nullopt;
  const Locked lock(mutex_);
  const auto found = ended_.find({kind, value});
  if (found == ended_.end()) return std::nullopt;
  return ended_object(kind, value, found->second);
}

EndedObject ObjectTable::ended_object(PlainObject::Kind kind, std::uint64_t value,
                                      const Ended& ended) {
  EndedObject out{.object = {.kind = object_kind(kind),
                             .value = value,
                             .made = {.stack = ended.made},
                             .ended = ended.at},
                  .with_context = ended.with_context};
  return out;
}

bool ObjectTable::is_alive(PlainObject::Kind kind, std::uint64_t value) noexcept {
  if (mutex_.held_here()) return true;
  const Locked lock(mutex_);
  return objects_.contains({kind, value});
}

std::optional<unsigned> ObjectTable::flags_of_event(std::uint64_t value) noexcept {
  if (mutex_.held_here()) return std::nullopt;
  const Locked lock(mutex_);
  const auto found = objects_.find({PlainObject::Kind::kEvent, value});
  return found == objects_.end() ? std::nullopt : std::optional(found->second.flags);
}

std::optional<PlainObject> ObjectTable::find_event(std::uint64_t value) noexcept {
  if (mutex_.held_here()) return std::nullopt;
  const Locked lock(mutex_);
  const auto found = objects_.find({PlainObject::Kind::kEvent, value});
  return found == objects_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<EndedObject> ObjectTable::find_ended_global(std::uint64_t address) noexcept {
  if (mutex_.held_here()) return std::nullopt;
  const Locked lock(mutex_);
  auto found = ended_.upper_bound({PlainObject::Kind::kGlobal, address});
  if (found == ended_.begin()) return std::nullopt;
  --found;
  const auto& [key, ended] = *found;
  if (key.first != PlainObject::Kind::kGlobal) return std::nullopt;
  if (address - key.second >= std::max<std::uint64_t>(ended.size, 1)) return std::nullopt;
  EndedObject ended_object{.object = {.kind = ObjectRef::Kind::kMemory,
                                      .value = key.second,
                                      .size = ended.size,
                                      .made = {.stack = ended.made},
                                      .ended = ended.at},
                           .with_context = ended.with_context};
  return ended_object;
}

bool ObjectTable::any_made_by(StackId stack) noexcept {
  if (mutex_.held_here()) return true;
  const Locked lock(mutex_);
  return makers_.contains(stack);
}

bool ObjectTable::is_made(std::uint64_t context) noexcept {
  if (mutex_.held_here()) return false;
  const Locked lock(mutex_);
  return objects_.contains({PlainObject::Kind::kContext, context});
}

template <class Ends>
void ObjectTable::end(Ends ends, Origin at) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  for (auto one = objects_.begin(); one != objects_.end();) {
    if (!one->second.ends_with_context() || !ends(one->second)) {
      ++one;
      continue;
    }
    bury_parts(one->first, one->second.made, at, true);
    try {
      bury(one->first, one->second.made, at, true);
    } catch (...) {
      unbury(one->first);  // out of memory
    }
    one = objects_.erase(one);
  }
}

void ObjectTable::end_context(std::uint64_t context, Origin at) noexcept {
  end([&](const PlainObject& object) { return object.context == context; }, at);
}

void ObjectTable::end_primary(int device, Origin at) noexcept {
  end([&](const PlainObject& object) { return object.device == device; }, at);
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
    // The tables' nodes may point anywhere, so the child abandons the tables.
    new (&objects_) decltype(objects_)();
    new (&wholes_) decltype(wholes_)();
    new (&parts_) decltype(parts_)();
    new (&ending_) decltype(ending_)();
    new (&ended_) decltype(ended_)();
    new (&order_) decltype(order_)();
    new (&kernel_nodes_) decltype(kernel_nodes_)();
    new (&retained_) decltype(retained_)();
    new (&makers_) decltype(makers_)();
    new (&released_) decltype(released_)();
  }
  objects_.clear();
  wholes_.clear();
  parts_.clear();
  ending_.clear();
  ended_.clear();
  for (Order& order : order_) order.clear();
  g_ended.clear();
  kernel_nodes_.clear();
  retained_.clear();
  makers_.clear();
  released_.clear();
}

}  // namespace cuvmm::shim
