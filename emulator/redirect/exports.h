// SPDX-License-Identifier: Apache-2.0
// The functions that a loaded object exports, looked up in its memory as the loader does.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace cuvmm::redirect {

class Exports {
 public:
  Exports() = default;
  explicit Exports(const link_map& object);
  /// Null where the object exports no function of this name. Versions are not regarded.
  const void* find(const char* name) const;

 private:
  const ElfW(Sym) * symbol(const char* name) const;

  ElfW(Addr) base_ = 0;
  const std::uint32_t* hash_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
};

}  // namespace cuvmm::redirect
