// SPDX-License-Identifier: Apache-2.0
// A libcuda as a table of function pointers. load_driver() fills it from a file, or a mock fills
// it.
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

/// Function pointers of one libcuda, by symbol. A null entry means that this driver does not export
/// the symbol. Copyable, without ownership: the code that loaded the library keeps it loaded.
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

  /// Performs the call through the primary symbol. CUDA_ERROR_NOT_FOUND if the driver lacks the
  /// symbol.
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

/// The result of load_driver: `error` is empty on success.
struct LoadedDriver {
  Driver driver;
  void* library = nullptr;  ///< dlopen handle; never closed (libcuda does not support unloading)
  std::string path;         ///< as the loader resolved it
  bool multicast = false;   ///< functions that can make or use a multicast team reach the driver
  bool emulated = false;    ///< it is cuvmm's emulator (it exports cuvmmEmulatorVersion)
  std::string error;        ///< the loader's message, if the library could not be loaded
};

/// Opens the libcuda at `path` (a file, or "libcuda.so.1" for the loader's search order) and fills
/// the table by dlsym. Symbols that the library lacks stay null.
///
/// Functions that can make or use a multicast team (api/multicast.h) answer
/// CUDA_ERROR_NOT_SUPPORTED unless `allow_multicast`, because they can put GPUs that others share
/// out of service. Calls that make managed memory, or a pool of it, then answer the same. Neither
/// holds for cuvmm's emulator, nor for cuvmm's shim, which decides for itself.
LoadedDriver load_driver(const std::string& path, bool allow_multicast = false);

/// "CUDA_ERROR_INVALID_VALUE" without a question to the driver; "CUresult(1234)" for an unknown
/// code.
std::string result_name(CUresult result);

/// The code for a name, with or without "CUDA_"; nothing when unknown.
std::optional<CUresult> result_from_name(std::string_view name);

}  // namespace cuvmm
