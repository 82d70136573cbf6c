// SPDX-License-Identifier: Apache-2.0
// Keeps the nodes of erased entries of a std::map or std::unordered_map for the next entries. So a
// program that maps and unmaps in turn costs no allocation.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace cuvmm {

/// Keeps at most kMost nodes; the others go back to the heap.
template <class Map>
class SpareNodes {
 public:
  static constexpr std::size_t kMost = 4096;

  SpareNodes() = default;
  // Spare nodes are not part of the state, so a copy of a model starts without any.
  SpareNodes(const SpareNodes&) {}
  SpareNodes& operator=(const SpareNodes&) { return *this; }
  SpareNodes(SpareNodes&&) noexcept = default;
  SpareNodes& operator=(SpareNodes&&) noexcept = default;
  ~SpareNodes() = default;

  /// Like map.erase(it), but keeps the memory. Returns the entry behind it.
  typename Map::const_iterator erase(Map& map, typename Map::const_iterator it) {
    // The entry behind the last one is known: std::next(it) would climb the whole tree to find it.
    const auto next = it == std::prev(map.cend()) ? map.cend() : std::next(it);
    if (nodes_.size() == kMost) [[unlikely]] {
      map.erase(it);
    } else {
      nodes_.push_back(map.extract(it));
    }
    return next;
  }

  /// Like map.erase(key), but keeps the memory.
  void erase_key(Map& map, const typename Map::key_type& key) {
    if (nodes_.size() == kMost) [[unlikely]] {
      map.erase(key);
    } else if (auto node = map.extract(key)) {
      nodes_.push_back(std::move(node));
    }
  }

  /// A node with this key and value for map.insert(); empty when no node is spare.
  typename Map::node_type take(const typename Map::key_type& key,
                               const typename Map::mapped_type& value) {
    if (nodes_.empty()) return {};
    typename Map::node_type node = std::move(nodes_.back());
    nodes_.pop_back();
    node.key() = key;
    node.mapped() = value;
    return node;
  }

  /// Like map[key], for a caller that then assigns the whole value, because a spare node still
  /// holds its old value.
  typename Map::mapped_type& fresh(Map& map, const typename Map::key_type& key) {
    if (nodes_.empty()) [[unlikely]]
      return map[key];
    typename Map::node_type node = std::move(nodes_.back());
    nodes_.pop_back();
    node.key() = key;
    return map.insert(std::move(node)).position->second;
  }

  /// Like map[key] = value, for a key that is most likely new.
  typename Map::iterator put(Map& map, const typename Map::key_type& key,
                             const typename Map::mapped_type& value) {
    return put(map, map.end(), key, value);
  }
  /// The same for an ordered map, with the entry that will follow as a hint. Returns the new place.
  typename Map::iterator put(Map& map, typename Map::const_iterator hint,
                             const typename Map::key_type& key,
                             const typename Map::mapped_type& value) {
    if (nodes_.empty()) [[unlikely]]
      return put_new(map, hint, key, value);
    auto node = take(key, value);
    const std::size_t before = map.size();
    const auto it = map.insert(hint, std::move(node));
    if (map.size() == before) [[unlikely]]
      it->second = value;
    return it;
  }

  void clear() { nodes_.clear(); }

 private:
  [[gnu::cold, gnu::noinline]] static typename Map::iterator put_new(
      Map& map, typename Map::const_iterator hint, const typename Map::key_type& key,
      const typename Map::mapped_type& value) {
    return map.insert_or_assign(hint, key, value);
  }

  std::vector<typename Map::node_type> nodes_;
};

}  // namespace cuvmm
