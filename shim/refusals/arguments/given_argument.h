// SPDX-License-Identifier: Apache-2.0
// An argument of a refused call, as far as it may be the reason for the refusal.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/calls.h"
#include "shim/objects/ended.h"

namespace cuvmm::shim {

struct GivenArgument {
  enum class Kind : std::uint8_t {
    kNumber,
    kDevice,   ///< an ordinal
    kSize,     ///< bytes
    kFlags,    ///< bits
    kOut,      ///< a place for the function to write to
    kHost,     ///< memory of the host that the function reads or writes
    kAddress,  ///< memory of a device
    kStream,   ///< 0 is a stream, too
    kHandle,   ///< an object of the driver; `object` is its kind
    kOpaque,   ///< anything else
  };
  std::string name;
  std::string text;  ///< the value as a report shows it
  Kind kind = Kind::kOpaque;
  std::uint64_t value = 0;
  PlainObject::Kind object = PlainObject::Kind::kCount;  ///< kCount: an object that has no table
};

/// Whether the answer says anything about the call: not "not yet", and not "there is no driver".
inline bool says_something(CUresult result) {
  return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY &&
         result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_DEINITIALIZED &&
         result != CUDA_ERROR_NO_DEVICE;
}

/// The arguments of a call of the table.
std::vector<GivenArgument> given_arguments(const Call& call);

/// The arguments of a function without a call struct. `names` is the list of their names, as
/// "(out, flags)"; a parameter's name decides between numbers of one type.
class GivenArguments {
 public:
  explicit GivenArguments(std::string_view names) : names_(names) {}

  template <class T>
  void add(T value) {
    using Kind = GivenArgument::Kind;
    if constexpr (std::is_same_v<T, CUstream>) {
      add_one(Kind::kStream, PlainObject::Kind::kStream, reinterpret_cast<std::uintptr_t>(value));
    } else if constexpr (kKindOf<T> != PlainObject::Kind::kCount &&
                         !std::is_const_v<std::remove_pointer_t<T>>) {
      add_one(Kind::kHandle, kKindOf<T>, handle_of(value));
    } else if constexpr (std::is_same_v<T, CUarray> || std::is_same_v<T, CUmipmappedArray>) {
      add_one(Kind::kHandle, PlainObject::Kind::kCount, reinterpret_cast<std::uintptr_t>(value));
    } else if constexpr (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>) {
      add_one(Kind::kOpaque, PlainObject::Kind::kCount, reinterpret_cast<std::uintptr_t>(value));
    } else if constexpr (std::is_same_v<T, const char*>) {
      add_string(value);
    } else if constexpr (std::is_pointer_v<T>) {
      const bool written = !std::is_const_v<std::remove_pointer_t<T>>;
      add_one(written ? Kind::kOut : Kind::kOpaque, PlainObject::Kind::kCount,
              reinterpret_cast<std::uintptr_t>(value));
    } else {
      add_number(static_cast<std::uint64_t>(value), std::is_same_v<T, int>,
                 std::is_same_v<T, std::size_t> || std::is_same_v<T, CUdeviceptr>);
    }
  }
  std::vector<GivenArgument> take() { return std::move(all_); }

 private:
  void add_one(GivenArgument::Kind kind, PlainObject::Kind object, std::uint64_t value);
  void add_number(std::uint64_t value, bool is_signed, bool is_wide);
  void add_string(const char* text);
  std::string next_name();

  std::string_view names_;
  std::vector<GivenArgument> all_;
};

}  // namespace cuvmm::shim
