// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/further_sources.h"

#include <algorithm>

namespace cuvmm::fuzz::source {

namespace {

using WordOperation = CUstreamBatchMemOpParams;

// CUstreamBatchMemOpType by its numbers; a wait until the word is equal.
constexpr unsigned kWait32 = 1, kWrite32 = 2, kFlush = 3, kWait64 = 4, kWrite64 = 5, kEqual = 1;

WordOperation word_operation(unsigned type, std::uint64_t address, std::uint64_t word,
                             unsigned flags) {
  WordOperation one;
  std::memset(static_cast<void*>(&one), 0, sizeof one);
  one.operation = static_cast<CUstreamBatchMemOpType>(type);
  if (type == kFlush) return one;
  one.writeValue.address = address;  // a wait has its fields in the same places
  one.writeValue.value64 = word;
  one.writeValue.flags = flags;
  return one;
}

const Value* part_of(const Value& record, std::string_view key) {
  for (const Argument& part : record.parts) {
    if (part.key == key) return &part.value;
  }
  return nullptr;
}

CUmemAllocationProp with_tiles(CUmemAllocationProp prop) {
  prop.allocFlags.usage |= CU_MEM_CREATE_USAGE_TILE_POOL;
  return prop;
}

}  // namespace

void WordList::canonicalise(Op& op) {
  settle(op.at, op.odd);
  if (word_follower(op.extra) == kThenWrite) {
    settle(op.at2, op.odd2);
  } else {
    op.ref2 = op.at2 = op.odd2 = 0;
  }
}

void* WordList::value(const Op& op, const Operands& o) {
  const bool is_long = op.extra & kLongWord;
  const std::uint64_t first = Address<1>::value(op, o), word = WordValue::word(op);
  const unsigned write = is_long ? kWrite64 : kWrite32, wait = is_long ? kWait64 : kWait32;
  WordOperation list[2] = {word_operation(write, first, word, 0), {}};
  switch (word_follower(op.extra)) {
    case kThenWait:
      list[1] = word_operation(wait, first, word, kEqual);
      break;
    case kThenWrite:
      list[1] = word_operation(write, Address<2>::value(op, o), word, 0);
      break;
    case kThenFlush:
      list[1] = word_operation(kFlush, 0, 0, 0);
      break;
    default:
      break;
  }
  static_assert(sizeof list <= sizeof o.memory.in);
  return std::memcpy(o.memory.in, list, sizeof list);
}

std::string WordList::text(const Op& op, const WrittenNames& names) {
  const bool is_long = op.extra & kLongWord;
  const std::string value = ", value=" + number_text(WordValue::word(op));
  const auto operation = [](unsigned type) { return "{operation=" + std::to_string(type); };
  const std::string write = operation(is_long ? kWrite64 : kWrite32) + ", address=";
  const std::string first = Address<1>::text(op, names);
  std::string out = "[" + write + first + value + "}";
  switch (word_follower(op.extra)) {
    case kThenWait:
      out += ", " + operation(is_long ? kWait64 : kWait32) + ", address=" + first + value;
      out += ", flags=1}";
      break;
    case kThenWrite:
      out += ", " + write + Address<2>::text(op, names) + value + "}";
      break;
    case kThenFlush:
      out += ", " + operation(kFlush) + "}";
      break;
    default:
      break;
  }
  return out + "]";
}

void WordList::read(Op& op, const Argued& argued) {
  const Value* list = argued.value();
  if (!list || list->kind != Value::Kind::kList || list->parts.empty() || list->parts.size() > 2) {
    return argued.refuse("an op has one stream memory operation or two");
  }
  unsigned types[2] = {};
  for (std::size_t i = 0; i < list->parts.size(); ++i) {
    const Value& record = list->parts[i].value;
    const auto one = argued.resolver().record<WordOperation>(record);
    if (record.kind != Value::Kind::kRecord) return;
    types[i] = static_cast<unsigned>(one.operation);
    if (types[i] == kFlush) continue;
    const Argued address = argued.part(part_of(record, "address"), {});
    i ? Address<2>::read(op, address) : Address<1>::read(op, address);
    if (i == 0) WordValue::read(op, argued.part(part_of(record, "value"), {}));
  }
  const bool is_long = types[0] == kWrite64;
  unsigned follower = kWriteAlone;
  if (types[1] == kFlush) follower = kThenFlush;
  if (types[1] == (is_long ? kWait64 : kWait32)) follower = kThenWait;
  if (types[1] == (is_long ? kWrite64 : kWrite32)) follower = kThenWrite;
  if ((!is_long && types[0] != kWrite32) || (list->parts.size() > 1 && follower == kWriteAlone)) {
    argued.refuse("an op writes a word, and then waits for it, writes another or flushes");
  }
  op.extra = word_extra(follower, is_long);
}

void Advice::read(Op& op, const Argued& argued) {
  if (argued.number() > 15) argued.refuse("no op holds this advice");
  op.value = static_cast<std::uint8_t>(argued.number() & 15);
}

std::string NotManaged::text(const Op& op, const WrittenNames&) {
  return word_text(allocation_type_words(), kTypes[op.extra]);
}
void NotManaged::read(Op& op, const Argued& argued) {
  const std::uint64_t type = argued.number();
  const auto found = std::find(std::begin(kTypes), std::end(kTypes), type);
  if (found == std::end(kTypes)) return argued.refuse("no op holds this type of memory");
  op.extra = static_cast<std::uint8_t>(found - std::begin(kTypes));
}

void Summary::read(Op& op, const Argued& argued) {
  const std::uint64_t bytes = argued.number(), size = distance(op.size, op.odd_size);
  if (bytes != 0 && bytes != size && bytes != size + kGranule) {
    argued.refuse("no op holds this granularity");
  }
  op.extra |= bytes == size ? 0 : bytes == 0 ? 1 : 2;
}

CUmemAllocationProp TilePool::value(const Op& op, const Operands&) {
  return with_tiles(value_of(op, 0));
}
std::string TilePool::text(const Op& op, const WrittenNames&) {
  return text_of(op, 0) + ", usage=1";
}
void TilePool::read(Op& op, const Argued& argued) {
  const CUmemAllocationProp prop = argued.resolver().properties(argued.properties());
  op.place = Location::place_of(prop.location, argued);
  const CUmemAllocationProp own = with_tiles(value_of(op, 0));
  const bool same = prop.type == own.type && prop.requestedHandleTypes == 0 &&
                    !prop.win32HandleMetaData &&
                    std::memcmp(&prop.allocFlags, &own.allocFlags, sizeof own.allocFlags) == 0;
  if (!same) argued.refuse("no op holds these properties");
}

void TiledDepth::read(Op& op, const Argued& argued) {
  for (std::uint8_t kind = 0; kind < kTiledKinds; ++kind) {
    if (tiled_kind(kind).depth != argued.number()) continue;
    op.flags = kind;
    return;
  }
  argued.refuse("no op holds this depth");
}
// The depth has been read.
void TiledFlags::read(Op& op, const Argued& argued) {
  const std::uint64_t depth = tiled_kind(op.flags).depth;
  for (std::uint8_t kind = 0; kind < kTiledKinds; ++kind) {
    if (tiled_kind(kind).depth != depth || tiled_kind(kind).flags != argued.number()) continue;
    op.flags = kind;
    return;
  }
  argued.refuse("no op holds these flags");
}

void DepthOfRegion::read(Op& op, const Argued& argued) {
  if (names_tail(op.value)) return;
  const auto found = std::find(std::begin(kDepths), std::end(kDepths), argued.number());
  if (found == std::end(kDepths)) return argued.refuse("no op holds this depth");
  op.extra |= static_cast<std::uint8_t>((found - std::begin(kDepths)) << 3);
}

void TileOffset::read(Op& op, const Argued& argued) {
  const std::uint64_t rest = argued.number() % kTile;
  if (argued.number() / kTile > 63 || (rest != 0 && rest != kPage)) {
    return argued.refuse("no op holds this offset");
  }
  op.at2 = static_cast<std::uint8_t>(argued.number() / kTile);
  op.odd2 |= rest != 0;
}

void DeviceMask::read(Op& op, const Argued& argued) {
  for (std::uint8_t place = 0; place <= kTwoDevices; ++place) {
    Op one;
    one.place = place;
    if (mask(one) != argued.number()) continue;
    op.place = place;
    return;
  }
  argued.refuse("no op holds these devices");
}

}  // namespace cuvmm::fuzz::source
