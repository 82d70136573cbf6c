// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/structure_sources.h"

#include "api/print.h"

namespace cuvmm::fuzz::source {

namespace {

// The text has these places by their numbers: a device below 0, and the node of the CPU.
bool by_number(const Place& place) { return place.id < 0 || place.type == 4; }

// Pinned memory with one unusual property, as the program text means it.
CUmemAllocationProp twisted(const PropertyTwist& twist) {
  Argument argument{twist.key, {}};
  argument.value.kind = Value::Kind::kNumber;
  argument.value.number = twist.value;
  std::vector<const Argument*> properties;
  if (*twist.key) properties.push_back(&argument);
  ZeroNames none;
  return Resolver(none).properties(properties);
}

bool same(const CUmemAllocationProp& a, const CUmemAllocationProp& b) {
  return a.type == b.type && std::memcmp(&a.allocFlags, &b.allocFlags, sizeof a.allocFlags) == 0 &&
         (a.win32HandleMetaData != nullptr) == (b.win32HandleMetaData != nullptr);
}

std::string access_word(const CUmemAccessDesc& access) {
  const auto flags = static_cast<std::uint64_t>(access.flags);
  const std::string_view word = find_value(access_words(), flags);
  return word.empty() ? "flags(" + number_text(flags) + ")" : std::string(word);
}

}  // namespace

std::string Location::text_of(std::uint8_t index) {
  const Place& place = kPlaces[index];
  if (!by_number(place)) return location_text(at(index));
  return "location(" + std::to_string(place.type) + ", " + std::to_string(place.id) + ")";
}
std::uint8_t Location::place_of(const CUmemLocation& location, const Argued& argued) {
  for (std::size_t i = 0; i < std::size(kPlaces); ++i) {
    if (kPlaces[i].type == static_cast<int>(location.type) && kPlaces[i].id == location.id) {
      return static_cast<std::uint8_t>(i);
    }
  }
  argued.refuse("no op holds this location");
  return 0;
}
void Location::read(Op& op, const Argued& argued) {
  const bool given = argued.value() != nullptr;
  op.place =
      place_of(given ? argued.resolver().location(*argued.value()) : CUmemLocation{}, argued);
}

CUmemAllocationProp AnyProperties::value_of(const Op& op, unsigned types) {
  static const auto kTwisted = [] {
    std::array<CUmemAllocationProp, std::size(kTwists)> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = twisted(kTwists[i]);
    return all;
  }();
  CUmemAllocationProp prop = kTwisted[op.extra];
  prop.location = Location::at(op.place);
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
  return prop;
}
std::string AnyProperties::text_of(const Op& op, unsigned types) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = Location::at(op.place);
  const Place& place = kPlaces[op.place];
  std::string out = prop_text(prop);
  if (by_number(place)) {
    out = "location=" + std::to_string(place.type) + ":" + std::to_string(place.id);
  }
  if (types) out += ", handle_types=" + bits_text(handle_type_words(), types);
  const PropertyTwist& twist = kTwists[op.extra];
  if (*twist.key) out += std::string(", ") + twist.key + "=" + number_text(twist.value);
  return out;
}
void AnyProperties::read_into(Op& op, const Argued& argued) {
  const CUmemAllocationProp prop = argued.resolver().properties(argued.properties());
  op.place = Location::place_of(prop.location, argued);
  op.value |= static_cast<std::uint8_t>(prop.requestedHandleTypes);
  for (std::size_t i = 0; i < std::size(kTwists); ++i) {
    op.extra = static_cast<std::uint8_t>(i);
    if (same(value_of(op, 0), prop)) return;
  }
  argued.refuse("no op holds these properties");
}

std::array<CUmemAccessDesc, 2> Access::value(const Op& op, const Operands&) {
  std::array<CUmemAccessDesc, 2> access{};
  access[0] = {Location::at(op.place), static_cast<CUmemAccess_flags>(op.value)};
  if (op.extra) {
    access[1] = {Location::at(static_cast<std::uint8_t>(op.extra - 1)),
                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  }
  return access;
}
std::string Access::text(const Op& op, const WrittenNames&) {
  const std::uint8_t places[] = {op.place, static_cast<std::uint8_t>(op.extra - 1)};
  std::string out;
  for (int i = 0; i < (op.extra ? 2 : 1); ++i) {
    CUmemAccessDesc access{};
    access.flags =
        i ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : static_cast<CUmemAccess_flags>(op.value);
    out += (i ? ", " : "") + Location::text_of(places[i]) + ":" + access_word(access);
  }
  return "[" + out + "]";
}
void Access::read(Op& op, const Argued& argued) {
  if (!argued.value()) return;
  const auto access = argued.resolver().access(*argued.value());
  if (access.empty() || access.size() > 2) {
    return argued.refuse("an op has one descriptor or two");
  }
  op.place = Location::place_of(access[0].location, argued);
  op.value = static_cast<std::uint8_t>(access[0].flags);
  if (access.size() == 1) return;
  op.extra = static_cast<std::uint8_t>(1 + Location::place_of(access[1].location, argued));
  if (access[1].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    argued.refuse("an op's second descriptor gives rw");
  }
}

}  // namespace cuvmm::fuzz::source
