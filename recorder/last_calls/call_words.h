// SPDX-License-Identifier: Apache-2.0
// Chooses the arguments of a call that its record holds: up to four, by their kinds in the table of
// entry points.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "api/calls.h"
#include "recorder/last_calls/format.h"

namespace cuvmm::last_calls {

namespace detail {

/// A parameter in the table of entry points.
struct Parameter {
  ParameterKind kind;
  const char* name;
};

/// A lower rank is kept first; kNever is not kept at all.
inline constexpr int kNever = 9;
constexpr int rank(ParameterKind kind) {
  using K = ParameterKind;
  switch (kind) {
    case K::kAddress:
    case K::kVoidAddress:
    case K::kHandle:
    case K::kHostIn:
    case K::kHostOut:
      return 0;
    case K::kSize:
    case K::kStream:
    case K::kObject:
      return 1;
    case K::kOffset:
    case K::kCount:
    case K::kContext:
    case K::kDevice:
    case K::kInShareable:
      return 2;
    case K::kValue:
    case K::kPitch:
    case K::kFill:
    case K::kFlags:
    case K::kAlignment:
    case K::kHandleType:
    case K::kRangeHandleType:
    case K::kOption:
    case K::kAttribute:
    case K::kPointerAttribute:
    case K::kPoolAttribute:
    case K::kAllocationType:
    case K::kArray:
      return 3;
    default:
      return kNever;
  }
}

constexpr WordKind word_kind(ParameterKind kind) {
  using K = ParameterKind;
  switch (kind) {
    case K::kSize:
    case K::kOffset:
    case K::kAlignment:
    case K::kPitch:
      return WordKind::kSize;
    case K::kCount:
    case K::kDevice:
    case K::kValue:
    case K::kHandleType:
    case K::kRangeHandleType:
    case K::kOption:
    case K::kAttribute:
    case K::kPointerAttribute:
    case K::kPoolAttribute:
    case K::kAllocationType:
      return WordKind::kNumber;
    default:
      return WordKind::kHex;
  }
}

// The parameters of each entry point, and one more, because an array cannot be empty.
#define CUVMM_PARAMETER(kind, type, name) {ParameterKind::k##kind, #name},
#define CUVMM_ENTRY(Name, area, ...)       \
  inline constexpr Parameter k##Name[] = { \
      CUVMM_FOR_EACH(CUVMM_PARAMETER, __VA_ARGS__){ParameterKind::kOpaque, nullptr}};
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, , __VA_ARGS__)
#include "api/entry_points.def"
#undef CUVMM_PARAMETER

inline constexpr std::size_t kMostParameters = 24;

/// For each parameter the index of its word in the record, or -1.
struct Choice {
  std::array<signed char, kMostParameters> place{};
  std::array<unsigned char, kWords> parameter{};
  std::size_t count = 0;
};

template <std::size_t N>
constexpr Choice choose(const Parameter (&parameters)[N]) {
  static_assert(N <= kMostParameters);
  Choice choice;
  std::array<bool, kMostParameters> taken{};
  for (int wanted = 0; wanted < kNever; ++wanted) {
    for (std::size_t i = 0; i + 1 < N; ++i) {
      if (rank(parameters[i].kind) != wanted || choice.count == kWords) continue;
      taken[i] = true;
      ++choice.count;
    }
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < kMostParameters; ++i) {
    choice.place[i] = -1;
    if (!taken[i]) continue;
    choice.parameter[next] = static_cast<unsigned char>(i);
    choice.place[i] = static_cast<signed char>(next++);
  }
  return choice;
}

template <EntryPoint entry>
inline constexpr Choice kChoice{};
#define CUVMM_ENTRY(Name, ...) \
  template <>                  \
  inline constexpr Choice kChoice<EntryPoint::k##Name> = choose(k##Name);
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name)
#include "api/entry_points.def"

template <EntryPoint entry>
struct Taker {
  std::uint64_t* words;
  std::size_t at = 0;

  template <class T>
  void operator()(ParameterKind, const char*, T value) {
    const int place = kChoice<entry>.place[at++];
    if (place < 0) return;
    if constexpr (std::is_pointer_v<T>) {
      words[place] = reinterpret_cast<std::uintptr_t>(value);
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      words[place] = static_cast<std::uint64_t>(value);
    }
  }
};

}  // namespace detail

using Words = std::array<std::uint64_t, kWords>;

/// The arguments that the call's record holds, in their order; the words behind them are 0.
template <class CallStruct>
Words words_of(const CallStruct& call) noexcept {
  Words words{};
  call.visit(detail::Taker<CallStruct::kEntryPoint>{words.data()});
  return words;
}

/// Writes the names of each entry point and of its words. Async-signal-safe.
void fill_rows(EntryRow (&rows)[kEntries]) noexcept;

}  // namespace cuvmm::last_calls
