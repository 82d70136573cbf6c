// SPDX-License-Identifier: Apache-2.0
// The positions of the parameters of device functions, and which of them may be addresses; cuvmm
// asks the driver once for each function.
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
#include "shim/queued_work/arguments/parameter_types.h"
#include "shim/queued_work/held_across_fork.h"
#include "shim/queued_work/questions.h"

namespace cuvmm::shim {

struct Layout {
  /// A parameter that can hold an address or a tensor map.
  struct Parameter {
    std::uint32_t offset = 0;             ///< bytes, in the buffer of all parameters
    std::uint32_t size = 0;               ///< bytes
    std::int16_t index = -1;              ///< among all parameters, from 0; -1 unknown
    Evidence evidence = Evidence::kWord;  ///< for each of its words to be an address
    bool reads = false;                   ///< the type shows that the kernel does not write through
                                          ///< it
    auto operator<=>(const Parameter&) const = default;
  };
  /// A parameter that is an aligned word of 8 bytes, and not kWord: small, so that many fit in a
  /// cache line.
  struct Word {
    std::uint16_t index = 0;
    Evidence evidence = Evidence::kWord;
    auto operator<=>(const Word&) const = default;
  };
  CUfunction handle = nullptr;            ///< the function or kernel
  bool hidden = false;                    ///< the driver does not give the layout
  bool hints = false;                     ///< words of structs and numbers are read as well
  bool structs = false;                   ///< some other parameters may hold addresses as well
  const std::string* function = nullptr;  ///< its name, demangled; lives as long as the process;
                                          ///< null: unknown
  std::vector<Word> words;            ///< all of `parameters`, if each of them is a word; else none
  std::vector<Parameter> parameters;  ///< in their order; without the parameters that hold no
                                      ///< address
  std::vector<Parameter> others;      ///< of at least a word: a program may pass any value in them
  auto operator<=>(const Layout&) const = default;
};

/// Thread-safe.
class Layouts : public HeldAcrossFork {
 public:
  /// `hints`: the value of Layout::hints.
  Layouts(const Questions& ask, bool hints) : ask_(ask), hints_(hints) {}

  /// The layout of a CUfunction, or of a CUkernel that the program passed as a CUfunction. The
  /// driver may load the function at the first question. The returned reference stays valid as long
  /// as the process lives. Takes no lock for a function that was looked up lately.
  const Layout& of(CUfunction function) {
    const Layout* const recent = place_of(function).load(std::memory_order_acquire);
    return recent && recent->handle == function ? *recent : look_up(function);
  }
  /// Records the parameter types of the kernels in a PTX text for `code`: the module or library
  /// that the driver made of the text, whose handle may have meant another one before.
  void learn(const void* code, std::string_view ptx);
  /// learn() for a file, if it holds PTX.
  void learn_file(const void* code, const char* name);
  /// Called when a handle may mean another function from here on.
  void forget_all();
  void restart(bool whole) CUVMM_UNCHECKED;

 private:
  static constexpr std::size_t kPlaces = 256;
  using Place = std::atomic<const Layout*>;

  const Layout& look_up(CUfunction function);
  Layout ask(CUfunction function, const char* name);
  void grade(std::vector<Layout::Parameter>& parameters, CUfunction function, const char* name);
  /// The types in the PTX that the function comes from; empty if the PTX is not known.
  std::vector<ParameterType> ptx_types(CUfunction function, const char* name);
  /// The function's name in the driver; null if the driver does not give it.
  const char* name_of(CUfunction function) const;
  Place& place_of(CUfunction function) {
    return places_[reinterpret_cast<std::uintptr_t>(function) * 0x9e3779b97f4a7c15u >> 56];
  }
  static_assert(kPlaces == 256);
  void forget_places();

  const Questions& ask_;
  const bool hints_;
  Place places_[kPlaces] = {};  ///< written under the lock
  std::unordered_map<CUfunction, const Layout*> known_ CUVMM_GUARDED_BY(mutex_);
  std::uint64_t forgotten_ CUVMM_GUARDED_BY(mutex_) = 0;  ///< how often forget_all() ran
  // These two only grow: a program has a limited number of functions, however often it loads them.
  std::set<Layout> layouts_ CUVMM_GUARDED_BY(mutex_);
  std::set<std::string> names_ CUVMM_GUARDED_BY(mutex_);
  static constexpr std::size_t kMostModules = 4096;  ///< types of further modules are not recorded
  /// The kernels of each module or library, by their names in the driver.
  using Kernels = std::unordered_map<std::string, std::vector<ParameterType>>;
  std::unordered_map<const void*, Kernels> ptx_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
