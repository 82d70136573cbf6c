// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/endpoint_sources.h"

namespace cuvmm::fuzz::source {

namespace {

// The element of a record; null for none.
const Value* field(const Value& record, std::string_view key) {
  for (const Argument& part : record.parts) {
    if (part.key == key) return &part.value;
  }
  return nullptr;
}

using Copy = CUDA_FABRIC_COPY_BATCH_OP;

bool source_is_endpoint(const Op& op) { return source_type(op.value) == kByEndpoint; }
bool destination_is_endpoint(const Op& op) { return destination_type(op.value) == kByEndpoint; }
// Where both sides are of one type, the second distance belongs to the destination.
bool alike(const Op& op) { return source_is_endpoint(op) == destination_is_endpoint(op); }

// The distance that is added to a side's name: the first belongs to an endpoint, the second to a
// pointer.
std::uint64_t added(const Op& op, bool destination) {
  const bool endpoint = destination ? destination_is_endpoint(op) : source_is_endpoint(op);
  const bool other = destination && alike(op);
  return endpoint != other ? distance(op.at, op.odd) : distance(op.at2, op.odd2);
}

CUfabricCpyOperand operand(const Op& op, const Operands& o, bool destination, std::uint64_t more) {
  CUfabricCpyOperand out{};
  const unsigned type = destination ? destination_type(op.value) : source_type(op.value);
  out.type = static_cast<CUfabricCpyOperandType>(type);
  if (type == kByEndpoint) {
    out.op.le.id = static_cast<CUlogicalEndpointId>(o.first + op.extra);
    out.op.le.offset = added(op, destination) + more;
  } else {
    out.op.ptr.ptr = o.second + added(op, destination) + more;
  }
  return out;
}

std::string operand_text(const Op& op, const WrittenNames& names, bool destination,
                         std::uint64_t more) {
  const std::string key = destination ? "dst" : "src";
  const unsigned type = destination ? destination_type(op.value) : source_type(op.value);
  std::string out = key + "Type=" + word_text(fabric_operand_words(), type) + ", ";
  const std::uint64_t offset = added(op, destination) + more;
  if (type != kByEndpoint) {
    return out + key + "=" + EndpointId::text_of(names.text(kRange, op.ref2), offset);
  }
  out += key + "Id=" + EndpointId::text(op, names);
  return offset ? out + ", " + key + "Offset=" + number_text(offset) : out;
}

std::uint64_t offset_of(const CUfabricCpyOperand& side) {
  return side.type == CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT ? side.op.le.offset
                                                                   : side.op.ptr.ptr;
}

}  // namespace

std::string EndpointId::text_of(const std::string& name, std::uint64_t added) {
  if (name.empty()) return number_text(added);
  return added ? name + "+" + number_text(added) : name;
}
void EndpointId::read(Op& op, const Argued& argued) {
  op.ref = argued.reference(kEndpoint);
  const std::uint64_t added = argued.number();
  if (added >= kEndpointIds) argued.refuse("no op holds this id");
  op.extra = static_cast<std::uint8_t>(added);
}

void EndpointProperties::canonicalise(Op& op) {
  Size::canonicalise(op);
  const unsigned type = endpoint_type(op.value);
  const bool team = type == kTeamed;
  if (team) {
    op.place = 0;
  } else {
    Device::canonicalise(op);
  }
  op.value =
      endpoint_value(type, team ? endpoint_devices(op.value) : 0, endpoint_handle_types(op.value));
}

CUlogicalEndpointProp EndpointProperties::value(const Op& op, const Operands&) {
  CUlogicalEndpointProp prop{};
  prop.type = static_cast<CUlogicalEndpointType>(endpoint_type(op.value));
  if (endpoint_type(op.value) == kTeamed) {
    prop.multicast.numDevices = endpoint_devices(op.value);
  } else {
    prop.unicast.device = device_number(op.place);
  }
  prop.size = distance(op.size, op.odd_size);
  prop.ipcHandleTypes = endpoint_handle_types(op.value);
  prop.flags = op.flags;
  return prop;
}

std::string EndpointProperties::text(const Op& op, const WrittenNames& names) {
  const unsigned type = endpoint_type(op.value);
  std::string out = "{type=" + word_text(endpoint_type_words(), type);
  out += type == kTeamed ? ", numDevices=" + number_text(endpoint_devices(op.value))
                         : ", device=" + Device::text(op, names);
  out += ", size=" + Size::text(op, names);
  if (const unsigned types = endpoint_handle_types(op.value)) {
    out += ", ipcHandleTypes=" + bits_text(endpoint_handle_type_words(), types);
  }
  if (op.flags) out += ", flags=" + bits_text(endpoint_flag_words(), op.flags);
  return out + "}";
}

void EndpointProperties::read(Op& op, const Argued& argued) {
  if (!argued.value()) return;
  const auto prop = argued.resolver().record<CUlogicalEndpointProp>(*argued.value());
  if (argued.value()->kind != Value::Kind::kRecord) return;
  const bool team = prop.type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST;
  const unsigned devices = team ? prop.multicast.numDevices : 0;
  if (static_cast<unsigned>(prop.type) > 3 || devices > 7 || prop.ipcHandleTypes > 3) {
    argued.refuse("no op holds this endpoint");
  }
  op.value =
      endpoint_value(static_cast<unsigned>(prop.type) & 3, devices & 7, prop.ipcHandleTypes & 3);
  op.flags = static_cast<std::uint8_t>(prop.flags);
  if (!fuzz::split(prop.size, op.size, op.odd_size)) argued.refuse("no op holds this size");
  if (!team) Device::read(op, argued.part(field(*argued.value(), "device"), {}));
}

void EndpointHandleType::read(Op& op, const Argued& argued) {
  op.value |= static_cast<std::uint8_t>(argued.number() & 3);
}

Blob EndpointBytes::value(const Op& op, const Operands& o) {
  Blob blob = Bytes::value(op, o);
  if (op.flags & kMadeUp) blob.fill(kForged);
  return blob;
}
std::string EndpointBytes::text(const Op& op, const WrittenNames& names) {
  if (!(op.flags & kMadeUp)) return Bytes::text(op, names);
  static_assert(kForged == 0xa5);
  std::string digits;
  for (std::size_t i = 0; i < kBlobBytes; ++i) digits += "a5";
  return '"' + digits + '"';
}
void EndpointBytes::read(Op& op, const Argued& argued) {
  Bytes::read(op, argued);
  const Value* bytes = argued.value();
  if (!bytes || bytes->kind != Value::Kind::kString) return;
  if (!bytes->text.empty()) op.flags |= kMadeUp;
}

void FabricOps::canonicalise(Op& op) {
  settle(op.at, op.odd);
  settle(op.at2, op.odd2);
  const bool any = source_is_endpoint(op) || destination_is_endpoint(op);
  const bool both = source_is_endpoint(op) && destination_is_endpoint(op);
  if (!any) op.ref = op.extra = 0;
  if (both) op.ref2 = 0;
}

FabricOps::List FabricOps::value(const Op& op, const Operands& o) {
  List list;
  std::memset(static_cast<void*>(list.data()), 0, sizeof list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::uint64_t more = i == 1 && op.odd_size == kTwoCopies ? kNextCopy : 0;
    list[i].src = operand(op, o, false, more);
    list[i].dst = operand(op, o, true, more);
    list[i].size = op.size;
    list[i].flags = op.value & kCopyFlag ? 1 : 0;
  }
  return list;
}

std::string FabricOps::text(const Op& op, const WrittenNames& names) {
  const int count = op.odd_size == kTwoCopies || op.odd_size == kSameCopies ? 2 : 1;
  std::string out;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t more = i == 1 && op.odd_size == kTwoCopies ? kNextCopy : 0;
    out += (i ? ", {" : "{") + operand_text(op, names, false, more) + ", " +
           operand_text(op, names, true, more) + ", size=" + number_text(op.size) +
           (op.value & kCopyFlag ? ", flags=1}" : "}");
  }
  return "[" + out + "]";
}

void FabricOps::read(Op& op, const Argued& argued) {
  const Value* list = argued.value();
  if (!list || list->kind != Value::Kind::kList || list->parts.empty() || list->parts.size() > 2) {
    return argued.refuse("an op has one copy or two");
  }
  Copy copies[2] = {};
  for (std::size_t i = 0; i < list->parts.size(); ++i) {
    copies[i] = argued.resolver().record<Copy>(list->parts[i].value);
    if (list->parts[i].value.kind != Value::Kind::kRecord) return;
  }
  const Copy& copy = copies[0];
  const Value& record = list->parts[0].value;
  const auto part = [&](const char* key) { return argued.part(field(record, key), {}); };
  op.value |= fabric_value(static_cast<unsigned>(copy.src.type) & 3,
                           static_cast<unsigned>(copy.dst.type) & 3);
  if (copy.flags) op.value |= kCopyFlag;
  Elements::read(op, part("size"));
  const bool from = source_is_endpoint(op), to = destination_is_endpoint(op);
  if (from || to) EndpointId::read(op, part(from ? "srcId" : "dstId"));
  if (!from || !to) op.ref2 = part(from ? "dst" : "src").reference(kRange);
  Op other;
  if (from && to) EndpointId::read(other, part("dstId"));
  if (!from && !to) other.ref2 = part("dst").reference(kRange);
  const bool same = from && to ? other.ref == op.ref && other.extra == op.extra
                               : from || to || other.ref2 == op.ref2;
  if (!same) argued.refuse("an op's two sides that are alike have one name");
  // The first distance belongs to the endpoint, or to the destination where no side is an endpoint.
  const std::uint64_t first = offset_of(from ? copy.src : copy.dst);
  const std::uint64_t second = offset_of(from ? copy.dst : copy.src);
  if (!fuzz::split(first, op.at, op.odd) || !fuzz::split(second, op.at2, op.odd2)) {
    argued.refuse("no op holds this distance");
  }
  if (list->parts.size() == 1) return;
  const std::uint64_t more = offset_of(copies[1].src) - offset_of(copy.src);
  if (more != offset_of(copies[1].dst) - offset_of(copy.dst) || (more && more != kNextCopy)) {
    argued.refuse("an op's second copy is the first, or 256 bytes further");
  }
  op.odd_size = more ? kTwoCopies : kSameCopies;
}

void FabricStream::read(Op& op, const Argued& argued) {
  const std::uint64_t stream = argued.number();
  if (stream > kOwn) argued.refuse("no op holds this stream");
  if (stream < kOwn) op.value |= static_cast<std::uint8_t>(kLegacyStream | stream << 5);
}

}  // namespace cuvmm::fuzz::source
