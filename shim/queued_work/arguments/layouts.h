// SPDX-License-Identifier: Apache-2.0
// Where the parameters of device functions lie, and which of them may be addresses; asked once per
// function.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rulebook/base/evidence.h"
#include "shim/base/owned_mutex.h"
#include "shim/queued_work/arguments/parameter_types.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

struct Layout {
  /// A parameter that can hold an address or a tensor map.
  struct Parameter {
    std::uint32_t offset = 0;             ///< bytes, in the buffer of all parameters
    std::uint32_t size = 0;               ///< bytes
    std::int16_t index = -1;              ///< among all parameters, from 0; -1 unknown
    Evidence evidence = Evidence::kWord;  ///< that each of its words is an address
    bool reads = false;                   ///< the kernel writes nothing through it, by its type
    auto operator<=>(const Parameter&) const = default;
  };
  /// The same of one that is an aligned word of 8 bytes, and no kWord: many in a cache line.
  struct Word {
    std::uint16_t index = 0;
    Evidence evidence = Evidence::kWord;
    auto operator<=>(const Word&) const = default;
  };
  CUfunction handle = nullptr;            ///< the function, or kernel
  bool hidden = false;                    ///< the driver does not tell
  bool hints = false;                     ///< words of structs and numbers are looked at too
  bool structs = false;                   ///< some parameters may hold addresses besides these
  const std::string* function = nullptr;  ///< its name, demangled; lives for ever; null: unknown
  std::vector<Word> words;            ///< all of `parameters`, where each of them is one; else none
  std::vector<Parameter> parameters;  ///< in their order; those that hold no address are absent
  std::vector<Parameter> others;  ///< of at least a word: a kernel may be given anything in them
  auto operator<=>(const Layout&) const = default;
};

/// Thread-safe.
class Layouts {
 public:
  /// `hints`: what Layout::hints is.
  Layouts(const Questions& ask, bool hints) : ask_(ask), hints_(hints) {}

  /// Of a CUfunction, or of a CUkernel that was passed as one. The driver may load the function
  /// when it is first asked. The answer lives for ever. No lock for a function that was asked for
  /// lately.
  const Layout& of(CUfunction function) {
    const Layout* const recent = place_of(function).load(std::memory_order_acquire);
    return recent && recent->handle == function ? *recent : look_up(function);
  }
  /// Keeps the types of the parameters of the kernels that PTX has, for `code`: the module or
  /// library that was made of it, which is another one from here on.
  void learn(const void* code, std::string_view ptx);
  /// The same of a file, where it holds PTX.
  void learn_file(const void* code, const char* name);
  /// A handle may mean another function from here on.
  void forget_all();
  /// Only in a child of fork, which has one thread. What is not whole is left behind.
  void restart(bool whole) CUVMM_UNCHECKED;
  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() CUVMM_RELEASES(mutex_) { mutex_.unlock(); }

 private:
  static constexpr std::size_t kPlaces = 256;
  using Place = std::atomic<const Layout*>;

  const Layout& look_up(CUfunction function);
  Layout ask(CUfunction function, const char* name);
  void grade(std::vector<Layout::Parameter>& parameters, CUfunction function, const char* name);
  /// Of the PTX that the function comes from; nothing where that is not known.
  std::vector<ParameterType> ptx_types(CUfunction function, const char* name);
  /// As the driver has it; null where it does not tell.
  const char* name_of(CUfunction function) const;
  Place& place_of(CUfunction function) {
    return places_[reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15u >> 56];
  }
  static_assert(kPlaces == 256);
  void forget_places();

  const Questions& ask_;
  const bool hints_;
  Place places_[kPlaces] = {};  ///< written under the lock
  OwnedMutex mutex_;
  std::unordered_map<CUfunction, const Layout*> known_ CUVMM_GUARDED_BY(mutex_);
  std::uint64_t forgotten_ CUVMM_GUARDED_BY(mutex_) = 0;  ///< how often
  // These only ever grow: a program has so many functions, however often it loads them.
  std::set<Layout> layouts_ CUVMM_GUARDED_BY(mutex_);
  std::set<std::string> names_ CUVMM_GUARDED_BY(mutex_);
  static constexpr std::size_t kMostModules = 4096;  ///< of more, nothing is kept
  /// By name, as the driver has it.
  using Kernels = std::unordered_map<std::string, std::vector<ParameterType>>;
  std::unordered_map<const void*, Kernels> ptx_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
