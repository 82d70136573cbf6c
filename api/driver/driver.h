// SPDX-License-Identifier: Apache-2.0
// A libcuda as a table of function pointers: loaded from a file, or filled by a mock.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "api/calls.h"
#include "api/symbols/symbols.h"

namespace cuvmm {

namespace detail {
template <EntryPoint>
struct EntryCall;
#define CUVMM_ENTRY(Name, area, ...)      \
  template <>                             \
  struct EntryCall<EntryPoint::k##Name> { \
    using type = calls::Name;             \
  };
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
}  // namespace detail

/// The call struct of an entry point: CallOf<EntryPoint::kMemMap> is calls::MemMap.
template <EntryPoint entry>
using CallOf = typename detail::EntryCall<entry>::type;

/// Function pointers of one libcuda, by symbol. A null entry means this driver does not export it.
/// Copyable, no ownership: whoever loaded the library keeps it loaded.
class Driver {
 public:
  using AnyFunction = void (*)();

  AnyFunction get(Symbol symbol) const { return table_[static_cast<std::size_t>(symbol)]; }
  void set(Symbol symbol, AnyFunction function) {
    table_[static_cast<std::size_t>(symbol)] = function;
  }

  /// The function behind an entry point's newest legacy-stream symbol, typed; may be null.
  template <class CallStruct>
  typename CallStruct::Function function() const {
    return reinterpret_cast<typename CallStruct::Function>(
        get(primary_symbol(CallStruct::kEntryPoint)));
  }

  /// Performs the call through the primary symbol; CUDA_ERROR_NOT_FOUND when the driver lacks it.
  template <class CallStruct>
  CUresult operator()(const CallStruct& call) const {
    auto fn = function<CallStruct>();
    return fn ? call.invoke(fn) : CUDA_ERROR_NOT_FOUND;
  }
  CUresult operator()(const Call& call) const;

  /// The symbol that <cuda.h> calls when a program writes the entry point's plain name.
  static Symbol primary_symbol(EntryPoint entry);

 private:
  std::array<AnyFunction, static_cast<std::size_t>(Symbol::kCount)> table_{};
};

/// Outcome of load_driver: `error` is empty on success.
struct LoadedDriver {
  Driver driver;
  void* library = nullptr;  ///< dlopen handle; never closed (libcuda does not support unloading)
  std::string path;         ///< as the loader resolved it
  bool multicast = false;   ///< what can make or use a multicast team reaches it
  bool emulated = false;    ///< it is cuvmm's emulator (it exports cuvmmEmulatorVersion)
  std::string error;        ///< the loader's sentence, when it could not be loaded
};

/// Opens the libcuda at `path` (a file, or "libcuda.so.1" for the loader's search order) and fills
/// the table by dlsym. Symbols the library lacks stay null.
/// What can make or use a multicast team (api/multicast.h) answers CUDA_ERROR_NOT_SUPPORTED unless
/// `allow_multicast`, on a driver that is neither our emulator nor our shim, which decides for
/// itself: it can put GPUs that others share out of service. There, what makes managed memory or a
/// pool of it answers the same.
LoadedDriver load_driver(const std::string& path, bool allow_multicast = false);

/// "CUDA_ERROR_INVALID_VALUE" without asking a driver; "CUresult(1234)" for a code we do not know.
std::string result_name(CUresult result);

/// The code for a name, with or without "CUDA_"; nothing when unknown.
std::optional<CUresult> result_from_name(std::string_view name);

}  // namespace cuvmm
