// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/sources.h"

#include <algorithm>

namespace cuvmm::fuzz::source {

namespace {
constexpr std::uint8_t kTebibyte = 7;  // indices into kOdd
constexpr std::uint8_t kTooLarge = 8;
constexpr std::uint8_t kLarge = 11;  // and what follows
}  // namespace

std::string Out::text(const Op& op, const WrittenNames&) {
  return op.faults & kNullOut ? "null" : "";
}
void Out::read(Op& op, const Argued& argued) {
  if (argued.null()) op.faults |= kNullOut;
}

void MemoryDescriptor::canonicalise(Op& op) {
  const bool fabric = op.value == 8;
  if (fabric) op.extra = 0;
  if (fabric || op.extra) op.ref = 0;
}

std::string ExternalDescriptor::text(const Op& op, const WrittenNames& names) {
  const std::string text = WildName::text(op, names);
  return text == "0" ? "-1" : text;
}
void ExternalDescriptor::read(Op& op, const Argued& argued) {
  op.ref = argued.reference(kDescriptor);
  if (op.ref == 0 && static_cast<int>(argued.number()) > 0) op.extra |= kWild;
}

std::string Size::text(const Op& op, const WrittenNames&) {
  return number_text(distance(op.size, op.odd_size));
}
void Size::read(Op& op, const Argued& argued) {
  argued.split(op.size, op.odd_size, "no op holds this size");
}

void ReservationSize::canonicalise(Op& op) {
  op.odd_size = wrapped(op.odd_size, kOdds);
  if (op.odd_size == kTebibyte || op.odd_size >= kLarge) op.odd_size = kTooLarge;
  Size::canonicalise(op);
}

void AllocationSize::canonicalise(Op& op) {
  Size::canonicalise(op);
  if (op.size == 0 && op.odd_size == 0) op.size = 1;
}

std::string Elements::text(const Op& op, const WrittenNames&) { return number_text(op.size); }
void Elements::read(Op& op, const Argued& argued) {
  const std::uint64_t count = argued.number();
  if (count > 255) argued.refuse("an op copies or fills 255 elements at most");
  op.size = static_cast<std::uint8_t>(count);
}

std::string Flags::text(const Op& op, const WrittenNames&) { return number_text(op.flags); }
void Flags::read(Op& op, const Argued& argued) {
  op.flags = static_cast<std::uint8_t>(argued.number());
}

void Device::canonicalise(Op& op) {
  op.place = wrapped(op.place, std::size(kPlaces));
  if (kPlaces[op.place].type != 1) op.place = kNoDevicePlace;
}
std::string Device::text(const Op& op, const WrittenNames&) {
  return std::to_string(device_number(op.place));
}
void Device::read(Op& op, const Argued& argued) {
  const int number = static_cast<int>(argued.number());
  for (std::size_t i = 0; i < std::size(kPlaces); ++i) {
    if (kPlaces[i].type != 1 || kPlaces[i].id != number) continue;
    op.place = static_cast<std::uint8_t>(i);
    return;
  }
  argued.refuse("no op holds this location");
}

std::string HandleType::text(const Op& op, const WrittenNames&) {
  return bits_text(handle_type_words(), op.value);
}
void HandleType::read(Op& op, const Argued& argued) {
  op.value |= static_cast<std::uint8_t>(argued.number());
}

std::string RangeType::text(const Op& op, const WrittenNames&) {
  return word_text(range_type_words(), op.value);
}

std::string ExternalType::text(const Op& op, const WrittenNames&) {
  return word_text(external_memory_type_words(), op.value);
}
void ExternalType::read(Op& op, const Argued& argued) {
  op.value = static_cast<std::uint8_t>(
      std::min<unsigned>(static_cast<unsigned>(argued.number()), ExternalType::kUses.value));
}

std::string Option::text(const Op& op, const WrittenNames&) { return number_text(op.value >> 4); }
void Option::read(Op& op, const Argued& argued) {
  op.value |= static_cast<std::uint8_t>(argued.number() << 4);
}

std::string PoolAttribute::text(const Op& op, const WrittenNames&) {
  return word_text(pool_attribute_words(), op.value);
}
void PoolAttribute::read(Op& op, const Argued& argued) {
  const std::uint64_t attribute = argued.number();
  if (attribute > 31) argued.refuse("no op holds this attribute");
  op.value = static_cast<std::uint8_t>(attribute & 31);
}

std::string TeamSize::text(const Op& op, const WrittenNames&) {
  return number_text(team_size(op.extra));
}
void TeamSize::read(Op& op, const Argued& argued) {
  op.extra = static_cast<std::uint8_t>(
      std::min<unsigned>(static_cast<unsigned>(argued.number()), kAllOnes));
}

std::string ReservedWord::text(const Op& op, const WrittenNames&) {
  return number_text(op.extra & kReservedWord);
}
void ReservedWord::read(Op& op, const Argued& argued) {
  if (argued.number()) op.extra |= kReservedWord;
}

void FillValue::canonicalise(Op& op) {
  op.extra = wrapped(op.extra, 3);
  if (kOdd[op.odd] % 4 != 0) op.extra = 0;
}
std::string FillValue::text(const Op& op, const WrittenNames&) { return number_text(element(op)); }
void FillValue::read(Op& op, const Argued& argued) {
  op.value = static_cast<std::uint8_t>(argued.number());
}

std::string ReadBuffer::text(const Op&, const WrittenNames& names) {
  return "b" + std::to_string(names.buffers);
}

std::string FilledBuffer::text(const Op& op, const WrittenNames&) {
  // An empty buffer would be no buffer.
  return "host(" + number_text(op.size ? op.size : 1) + ", fill=" + number_text(op.value) + ")";
}
void FilledBuffer::read(Op& op, const Argued& argued) {
  const Value* host = argued.value();
  if (!host || host->kind != Value::Kind::kCall || host->parts.size() < 2) return;
  op.value = static_cast<std::uint8_t>(argued.part(&host->parts[1].value, {}).number());
}

Blob ForgedBytes::value(const Op& op, const Operands& o) {
  Blob blob = Bytes::value(op, o);
  if (op.extra & kWild) blob.fill(kForged);
  return blob;
}
std::string ForgedBytes::text(const Op& op, const WrittenNames& names) {
  if (!(op.extra & kWild)) return Bytes::text(op, names);
  static_assert(kForged == 0xa5);
  std::string digits;
  for (std::size_t i = 0; i < kBlobBytes; ++i) digits += "a5";
  return '"' + digits + '"';
}
void ForgedBytes::read(Op& op, const Argued& argued) {
  Bytes::read(op, argued);
  const Value* bytes = argued.value();
  if (!bytes || bytes->kind != Value::Kind::kString) return;
  if (!bytes->text.empty()) op.extra |= kWild;
}

}  // namespace cuvmm::fuzz::source
