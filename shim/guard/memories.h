// SPDX-License-Identifier: Apache-2.0
// Which memory is mapped where, and whether other processes may see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace cuvmm::shim {

/// Physical memory of cuMemCreate, or an import.
struct Memory {
  std::uint32_t references = 1;  ///< the references of its handle
  std::uint32_t mappings = 0;
  bool shared = false;   ///< imported, exported or bound to a team: other processes may see its
                         ///< bytes
  bool settled = false;  ///< the program has set access: it may have written
};

struct MappedMemory {
  std::uint64_t base = 0, size = 0;
  std::shared_ptr<Memory> memory;  ///< null: the memory was made by a call that the guard did not
                                   ///< see
};

/// Not thread-safe; calls no driver.
class Memories {
 public:
  void created(std::uint64_t handle);
  void imported(std::uint64_t handle);
  /// The program got this handle as a further reference to the memory that is mapped at the
  /// address.
  void retained(std::uint64_t handle, std::uint64_t address);
  void released(std::uint64_t handle);
  /// The driver refused a release.
  void restore(std::uint64_t handle, const std::shared_ptr<Memory>& memory);
  void share(std::uint64_t handle);
  void share_mapped(std::uint64_t address, std::uint64_t size);
  std::shared_ptr<Memory> find(std::uint64_t handle) const;

  void map(const MappedMemory& mapped);
  /// Takes out the mappings that lie wholly in the range. `whole` becomes false if a mapping lies
  /// there in part.
  std::vector<MappedMemory> take(std::uint64_t address, std::uint64_t size, bool& whole);
  /// Puts back the mappings of take(), because the driver refused the call.
  void put_back(const std::vector<MappedMemory>& taken);
  /// The mappings that lie wholly in the range.
  std::vector<MappedMemory> inside(std::uint64_t address, std::uint64_t size) const;
  /// Whether memory is mapped in the range.
  bool mapped(std::uint64_t address, std::uint64_t size) const;

 private:
  using Map = std::map<std::uint64_t, MappedMemory>;
  Map::const_iterator first_after(std::uint64_t address) const;

  std::unordered_map<std::uint64_t, std::shared_ptr<Memory>> handles_;
  Map mappings_;
};

}  // namespace cuvmm::shim
