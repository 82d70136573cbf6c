// SPDX-License-Identifier: Apache-2.0
// Any call as program text, and as name/value pairs. Reports and the trace writer use it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "api/calls.h"
#include "api/record_fields.h"

namespace cuvmm {

/// Gives values their names in a program ("r0+2M" for an address in the range of r0). The default
/// names nothing, so that numbers are printed.
class ValueNames {
 public:
  virtual ~ValueNames() = default;
  /// The text for a value of this kind, or "" to print the number.
  virtual std::string text(ParameterKind kind, std::uint64_t value) const {
    (void)kind, (void)value;
    return {};
  }
};

struct ArgumentText {
  const char* name;  ///< C parameter name; static
  std::string
      text;  ///< as the program text spells it; properties flattened: "device=0, type=pinned"
};

/// "cuMemUnmap(ptr=0x600000000000, size=2M)".
std::string call_text(EntryPoint entry, const std::vector<ArgumentText>& arguments);

/// The number of an array's elements that are printed at most. A wrong count must not make a report
/// read memory behind the array.
inline constexpr std::size_t kMostElements = 64;

/// Whether a kind is an out-parameter. The program text has no out-parameter, unless it is NULL.
bool is_output(ParameterKind kind);
/// Whether the program text may omit a parameter, which then is 0.
bool may_be_omitted(ParameterKind kind, EntryPoint entry);

/// "{type=opaque_fd, fd=7, size=2M}": the fields of a structure that are not 0.
template <class Record>
std::string record_text(const Record& record, const ValueNames* names);

/// "device0", "host", "host_numa1", "location(99, 0)".
std::string location_text(const CUmemLocation& location);

/// Appends one argument at a time. The templates below share this class, so that the code is not
/// repeated for each type.
class CallPrinter {
 public:
  explicit CallPrinter(EntryPoint entry, const ValueNames* names = nullptr);

  /// The number of elements of the arrays that follow, by the call's count. Call it before the
  /// arrays.
  void set_count(std::size_t count) { count_ = count; }
  /// The same for attributes or locations, each of which applies to several elements.
  void set_parts(std::size_t parts) { parts_ = parts; }
  /// Host memory is printed as a buffer of this many bytes, with its content.
  void set_host_bytes(std::size_t bytes) { host_bytes_ = bytes; }

  template <class T>
  void operator()(ParameterKind kind, const char* name, T value) {
    if constexpr (kIsRecord<std::remove_pointer_t<T>>) {
      if (!value) return pointer(kind, name, nullptr);
      if (kind == ParameterKind::kInRecord) return add(name, record_text(*value, names_), {});
      const std::size_t count = std::is_same_v<T, CUmemcpyAttributes*> ? parts_ : count_;
      std::string list;
      for (std::size_t i = 0; i < count && i < kMostElements; ++i)
        list += (i ? ", " : "") + record_text(value[i], names_);
      add(name, "[" + list + "]", {});
    } else if constexpr (std::is_same_v<T, CUmemLocation>) {
      add(name, location_text(value), {});
    } else if constexpr (std::is_class_v<T>) {
      blob(name, &value, sizeof value);
    } else if constexpr (std::is_pointer_v<T>) {
      pointer(kind, name, reinterpret_cast<const void*>(value));
    } else {
      number(kind, name, static_cast<std::uint64_t>(value));
    }
  }

  std::vector<ArgumentText> arguments() && { return std::move(arguments_); }
  /// "cuMemMap(r0, 2M, h0, offset=1M)"
  std::string call() const;

 private:
  struct Style {
    bool omitted = false;  ///< not in call(): an optional 0, or an out-parameter with storage
    bool keyed = false;    ///< call() writes `name=`
  };

  void blob(const char* name, const void* value, std::size_t size);
  void number(ParameterKind kind, const char* name, std::uint64_t value);
  void pointer(ParameterKind kind, const char* name, const void* value);
  /// Appends an array of `count` numbers of 64 bits.
  void list(ParameterKind kind, const char* name, const void* numbers, std::size_t count);
  void add(const char* name, std::string text, Style style);

  EntryPoint entry_;
  const ValueNames* names_;
  std::size_t count_ = 0;
  std::size_t value_bytes_ = 0;  ///< of the attribute's value that comes next, 0 unknown
  std::size_t parts_ = 0;
  std::size_t host_bytes_ = 0;
  std::vector<ArgumentText> arguments_;
  std::vector<Style> styles_;
};

/// "device=0, handle_types=posix_fd": only the fields that differ from a pinned allocation's
/// zeroes.
std::string prop_text(const CUmemAllocationProp& prop);
/// "[device0:rw, host:none]", "null" for a null pointer.
std::string access_text(const CUmemAccessDesc* descriptors, std::size_t count);

namespace detail {
// Tells the printer the number of descriptors and the bytes of a copy, and then visits the call.
template <class CallStruct>
CallPrinter visited(const CallStruct& call, const ValueNames* names) {
  CallPrinter printer(CallStruct::kEntryPoint, names);
  if constexpr (requires { printer.set_count(call.count); }) printer.set_count(call.count);
  if constexpr (requires { call.numOps; }) printer.set_count(call.numOps);
  if constexpr (requires { call.numAttrs; }) printer.set_parts(call.numAttrs);
  if constexpr (requires { call.numPrefetchLocs; }) printer.set_parts(call.numPrefetchLocs);
  if constexpr (requires { call.numExtSems; }) printer.set_count(call.numExtSems);
  if constexpr (requires { call.numOps; }) printer.set_count(call.numOps);
  if constexpr (requires { call.ByteCount; }) printer.set_host_bytes(call.ByteCount);
  call.visit(printer);
  return printer;
}
}  // namespace detail

/// All arguments, each by its C name; an out-parameter with storage reads "out". Reads the
/// structures that in-parameters point to, so call it while the caller may read them.
template <class CallStruct>
std::vector<ArgumentText> argument_texts(const CallStruct& call,
                                         const ValueNames* names = nullptr) {
  return detail::visited(call, names).arguments();
}

/// The call as one statement, without result and comment. Reads the same structures as
/// argument_texts().
template <class CallStruct>
std::string call_text(const CallStruct& call, const ValueNames* names = nullptr) {
  return detail::visited(call, names).call();
}

/// The same for a stored call; "" for an empty one.
std::string call_text(const Call& call, const ValueNames* names = nullptr);
std::vector<ArgumentText> argument_texts(const Call& call, const ValueNames* names = nullptr);

}  // namespace cuvmm
