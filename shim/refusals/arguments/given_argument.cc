// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/arguments/given_argument.h"

#include <string.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/print.h"
#include "api/visit_call.h"
#include "api/words.h"
#include "shim/facts/host_memory.h"

namespace cuvmm::shim {

namespace {

using Kind = GivenArgument::Kind;

Kind kind_of(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kAddress:
    case ParameterKind::kVoidAddress:
      return Kind::kAddress;
    case ParameterKind::kSize:
      return Kind::kSize;
    case ParameterKind::kFlags:
      return Kind::kFlags;
    case ParameterKind::kDevice:
      return Kind::kDevice;
    case ParameterKind::kStream:
      return Kind::kStream;
    case ParameterKind::kContext:
    case ParameterKind::kArray:
    case ParameterKind::kObject:
      return Kind::kHandle;
    case ParameterKind::kHostIn:
    case ParameterKind::kHostOut:
      return Kind::kHost;
    case ParameterKind::kOutAddress:
    case ParameterKind::kOutHandle:
    case ParameterKind::kOutSize:
    case ParameterKind::kOutFlags:
    case ParameterKind::kOutInt:
    case ParameterKind::kOutContext:
    case ParameterKind::kOutObject:
      return Kind::kOut;
    default:
      return Kind::kOpaque;
  }
}

std::string text_of(Kind kind, std::uint64_t value) {
  switch (kind) {
    case Kind::kDevice:
    case Kind::kNumber:
      return std::to_string(static_cast<std::int64_t>(value));
    case Kind::kSize:
      return value == 0 ? "0" : size_text(value);
    case Kind::kStream:
    case Kind::kFlags:
      return value == 0 ? "0" : hex_text(value);
    case Kind::kOut:
      return value == 0 ? "NULL" : "out";
    default:
      return value == 0 ? "NULL" : hex_text(value);
  }
}

template <class T>
std::uint64_t number_of(const T& field) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(field);
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(field);
  } else {
    return 1;  // a structure by value
  }
}

}  // namespace

std::vector<GivenArgument> given_arguments(const Call& call) {
  return visit_call<std::vector<GivenArgument>>(call, [](const auto& made) {
    std::vector<GivenArgument> all;
    made.visit([&](ParameterKind parameter, const char* name, const auto& field) {
      using Field = std::remove_cvref_t<decltype(field)>;
      GivenArgument one;
      one.name = name;
      one.kind = kind_of(parameter);
      one.value = number_of(field);
      one.object = kKindOf<Field>;
      const bool plain = std::is_integral_v<Field> || std::is_enum_v<Field>;
      if (one.kind == Kind::kOpaque && plain) one.kind = Kind::kNumber;
      // Some functions have results of kinds that no table names.
      if (one.kind == Kind::kOpaque && one.object != PlainObject::Kind::kCount)
        one.kind = Kind::kHandle;
      const bool written = one.name.starts_with('p') && all.empty() && std::is_pointer_v<Field>;
      if (one.kind == Kind::kOpaque && written) one.kind = Kind::kOut;
      one.text = text_of(one.kind, one.value);
      all.push_back(std::move(one));
    });
    return all;
  });
}

std::string GivenArguments::next_name() {
  const std::size_t from = std::min(names_.find_first_not_of("(, "), names_.size());
  names_.remove_prefix(from);
  const std::size_t end = std::min(names_.find_first_of(",)"), names_.size());
  std::string name(names_.substr(0, end));
  names_.remove_prefix(end);
  return name;
}

void GivenArguments::add_one(Kind kind, PlainObject::Kind object, std::uint64_t value) {
  all_.push_back({next_name(), text_of(kind, value), kind, value, object});
}

// The driver may have refused the call before it read the string, so the pointer may be anything.
void GivenArguments::add_string(const char* text) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::size_t kMost = 80;
  const auto address = reinterpret_cast<std::uintptr_t>(text);
  const std::size_t readable = std::min<std::size_t>(kMost, kPage - address % kPage);
  std::string shown = text_of(Kind::kOpaque, address);
  if (host_can_read(address)) {
    shown = '"' + std::string(text, ::strnlen(text, readable)) + '"';
  }
  all_.push_back(
      {next_name(), std::move(shown), Kind::kOpaque, address, PlainObject::Kind::kCount});
}

void GivenArguments::add_number(std::uint64_t value, bool is_signed, bool is_wide) {
  std::string name = next_name();
  constexpr std::string_view kDevices[] = {"device", "ordinal", "dev",       "peer",
                                           "source", "target",  "srcDevice", "dstDevice"};
  Kind kind = Kind::kNumber;
  if (is_signed && std::ranges::find(kDevices, name) != std::end(kDevices)) kind = Kind::kDevice;
  if (name == "flags") kind = Kind::kFlags;
  if (is_wide && name == "size") kind = Kind::kSize;
  all_.push_back({std::move(name), text_of(kind, value), kind, value, PlainObject::Kind::kCount});
}

}  // namespace cuvmm::shim
