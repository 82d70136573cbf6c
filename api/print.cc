// SPDX-License-Identifier: Apache-2.0
#include "api/print.h"

#include <cstring>

#include "api/location.h"
#include "api/newer/pools.h"
#include "api/visit_call.h"
#include "api/words.h"

namespace cuvmm {

std::string call_text(EntryPoint entry, const std::vector<ArgumentText>& arguments) {
  std::string text = std::string(name(entry)) + "(";
  for (const ArgumentText& argument : arguments) {
    if (text.back() != '(') text += ", ";
    text += std::string(argument.name) + "=" + argument.text;
  }
  return text + ")";
}

bool is_output(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kOutAddress:
    case ParameterKind::kOutHandle:
    case ParameterKind::kOutSize:
    case ParameterKind::kOutFlags:
    case ParameterKind::kOutInt:
    case ParameterKind::kOutContext:
    case ParameterKind::kOutObject:
    case ParameterKind::kOutBlob:
    case ParameterKind::kOutProp:
    case ParameterKind::kOutPoolValue:
    case ParameterKind::kOutShareable:
      return true;
    default:
      return false;
  }
}

bool may_be_omitted(ParameterKind kind, EntryPoint entry) {
  switch (kind) {
    case ParameterKind::kOffset:
    case ParameterKind::kAlignment:
    case ParameterKind::kFlags:
    case ParameterKind::kStream:
    case ParameterKind::kOption:
      return true;
    case ParameterKind::kAddress:
      return entry == EntryPoint::kMemAddressReserve;
    case ParameterKind::kCount:
      return entry == EntryPoint::kMemSetAccess || entry == EntryPoint::kMemPoolSetAccess ||
             entry == EntryPoint::kMemMapArrayAsync ||
             entry == EntryPoint::kSignalExternalSemaphoresAsync ||
             entry == EntryPoint::kWaitExternalSemaphoresAsync;
    default:
      return false;
  }
}

namespace {
// Ids of locations and devices are signed ints, which negative values extend to 64 bits.
std::uint64_t extended(int value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

void append(std::string& text, std::string_view key, std::string_view value) {
  if (!text.empty()) text += ", ";
  text += key;
  if (value.empty()) return;
  text += '=';
  text += value;
}

std::string address_text(const ValueNames* names, ParameterKind kind, std::uint64_t value) {
  std::string text = names ? names->text(kind, value) : std::string();
  if (!text.empty()) return text;
  // A value that is too large for a size, and not a small negative number, is an address as drivers
  // give out.
  constexpr std::uint64_t kLowestAddress = std::uint64_t{1} << 32, kNegative = ~std::uint64_t{4095};
  const bool like_one = kind == ParameterKind::kAddress && value >= kLowestAddress;
  return like_one && value < kNegative ? hex_text(value) : number_text(value);
}
}  // namespace

std::string location_text(const CUmemLocation& location) {
  if (is_domain(location)) {
    const LocalityDomain at = locality_domain(location);
    return "domain(" + std::to_string(at.device) + ", " + std::to_string(at.domain) + ")";
  }
  const auto type = static_cast<std::uint64_t>(location.type);
  const std::string_view word = find_value(location_type_words(), type);
  if ((word == "host" || word == "host_numa_current") && location.id == 0) return std::string(word);
  if (word == "invisible" && location.id == kDeviceInvalid) return std::string(word);
  if ((word == "device" || word == "host_numa") && location.id >= 0) {
    return std::string(word) + std::to_string(location.id);
  }
  return "location(" + number_text(type) + ", " + number_text(extended(location.id)) + ")";
}

template <class Record>
std::string record_text(const Record& record, const ValueNames* names) {
  std::string text;
  visit_record(record, [&]<class T>(const RecordField& field, const T& member) {
    std::string value;
    if constexpr (std::is_same_v<T, CUmemLocation>) {
      // Most calls have no hint, so an empty hint is not printed.
      const bool hint = std::string_view(field.key) != "location";
      if (hint && static_cast<int>(member.type) == 0 && member.id == 0) return;
      value = location_text(member);
    } else {
      std::uint64_t number = 0;
      if constexpr (std::is_pointer_v<T>) {
        number = reinterpret_cast<std::uintptr_t>(member);
      } else if constexpr (std::is_signed_v<T>) {
        number = extended(member);
      } else {
        number = static_cast<std::uint64_t>(member);
      }
      if (number == 0) return;
      const std::string_view key = field.key;
      if (!field.words.empty()) {
        value =
            key == "handleTypes" ? bits_text(field.words, number) : word_text(field.words, number);
      } else if (key == "fd") {
        value = address_text(names, ParameterKind::kInShareable, number);
      } else if (key == "memHandle") {
        value = address_text(names, ParameterKind::kHandle, number);
      } else if constexpr (std::is_same_v<T, CUdeviceptr>) {
        value = address_text(names, ParameterKind::kAddress, number);
      } else {
        value = number_text(number);
      }
    }
    append(text, field.key, value);
  });
  return "{" + text + "}";
}

#define CUVMM_RECORD_TEXT(Type) template std::string record_text(const Type&, const ValueNames*);
CUVMM_RECORD_TYPES(CUVMM_RECORD_TEXT)
#undef CUVMM_RECORD_TEXT

std::string prop_text(const CUmemAllocationProp& prop) {
  std::string text;
  const auto type = static_cast<std::uint64_t>(prop.location.type);
  const std::string_view word = find_value(location_type_words(), type);
  const std::string id = number_text(extended(prop.location.id));
  if (is_domain(prop.location)) {
    const LocalityDomain at = locality_domain(prop.location);
    append(text, "domain", std::to_string(at.device) + ":" + std::to_string(at.domain));
  } else if (word.empty()) {
    append(text, "location", number_text(type) + ":" + id);
  } else if ((word == "host" || word == "host_numa_current") && prop.location.id == 0) {
    append(text, word, "");
  } else {
    append(text, word, id);
  }
  if (prop.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    append(text, "type", word_text(allocation_type_words(), static_cast<std::uint64_t>(prop.type)));
  }
  if (prop.requestedHandleTypes != 0) {
    append(text, "handle_types",
           bits_text(handle_type_words(), static_cast<std::uint32_t>(prop.requestedHandleTypes)));
  }
  if (prop.allocFlags.compressionType) {
    append(text, "compression", number_text(prop.allocFlags.compressionType));
  }
  if (prop.allocFlags.gpuDirectRDMACapable) {
    append(text, "rdma", number_text(prop.allocFlags.gpuDirectRDMACapable));
  }
  if (prop.allocFlags.usage) append(text, "usage", bits_text(usage_words(), prop.allocFlags.usage));
  for (int i = 0; i < 4; ++i) {
    if (prop.allocFlags.reserved[i]) {
      append(text, "reserved" + std::to_string(i), number_text(prop.allocFlags.reserved[i]));
    }
  }
  if (prop.win32HandleMetaData) append(text, "win32_metadata", "1");
  return text;
}

std::string access_text(const CUmemAccessDesc* descriptors, std::size_t count) {
  if (!descriptors) return "null";
  std::string text = "[";
  for (std::size_t i = 0; i < count && i < kMostElements; ++i) {
    if (i) text += ", ";
    const auto flags = static_cast<std::uint64_t>(descriptors[i].flags);
    const std::string_view word = find_value(access_words(), flags);
    text += location_text(descriptors[i].location) + ":";
    text += word.empty() ? "flags(" + number_text(flags) + ")" : std::string(word);
  }
  return text + "]";
}

CallPrinter::CallPrinter(EntryPoint entry, const ValueNames* names)
    : entry_(entry), names_(names) {}

void CallPrinter::add(const char* name, std::string text, Style style) {
  arguments_.push_back({name, std::move(text)});
  styles_.push_back(style);
}

// Prints 64 bytes as the parser reads them back, or the name of the buffer that they came from.
void CallPrinter::blob(const char* name, const void* value, std::size_t size) {
  const std::string_view bytes(static_cast<const char*>(value), size);
  std::string text;
  if (names_) text = names_->text(ParameterKind::kBlob, std::hash<std::string_view>()(bytes));
  if (text.empty()) {
    constexpr char kDigits[] = "0123456789abcdef";
    text = "\"";
    for (const char byte : bytes) {
      text += kDigits[static_cast<unsigned char>(byte) >> 4];
      text += kDigits[byte & 15];
    }
    text += '"';
  }
  add(name, std::move(text), {});
}

void CallPrinter::number(ParameterKind kind, const char* name, std::uint64_t value) {
  const bool optional = may_be_omitted(kind, entry_);
  Style style{.omitted = optional && value == 0, .keyed = optional};
  // The list of descriptors in the text gives the count, unless the call has another one.
  if (optional && kind == ParameterKind::kCount) {
    const bool has_list = !arguments_.empty() && arguments_.back().text != "null";
    style.omitted = has_list && value == count_ && value <= 64;
    if (has_list && value == 0) style.omitted = true;
  }
  if (kind == ParameterKind::kPoolAttribute) {
    value_bytes_ = pool_attribute_bytes(static_cast<CUmemPool_attribute>(value));
  }
  std::string text;
  if (kind == ParameterKind::kHandleType) {
    text = bits_text(handle_type_words(), value & 0xffffffffu);
  } else if (const auto words = words_of(kind); !words.empty()) {
    text = word_text(words, value);
  } else {
    text = address_text(names_, kind, value);
  }
  add(name, std::move(text), style);
}

void CallPrinter::list(ParameterKind kind, const char* name, const void* numbers,
                       std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count && i < kMostElements; ++i) {
    const std::uint64_t number = static_cast<const std::uint64_t*>(numbers)[i];
    text += (i ? ", " : "") + address_text(names_, kind, number);
  }
  add(name, "[" + text + "]", {});
}

void CallPrinter::pointer(ParameterKind kind, const char* name, const void* value) {
  // For two calls this parameter receives a pointer to host memory. For copies it is memory that
  // exists.
  const bool host_pointer =
      kind == ParameterKind::kHostOut &&
      (entry_ == EntryPoint::kMemAllocHost || entry_ == EntryPoint::kMemHostAlloc);
  if (is_output(kind) || host_pointer) {
    return add(name, value ? "out" : "null", {.omitted = value != nullptr, .keyed = true});
  }
  const auto bits = reinterpret_cast<std::uintptr_t>(value);
  switch (kind) {
    case ParameterKind::kVoidAddress:
    case ParameterKind::kStream:
    case ParameterKind::kObject:
    case ParameterKind::kInShareable: {
      const bool optional = may_be_omitted(kind, entry_);
      return add(name, address_text(names_, kind, bits),
                 {.omitted = optional && !value, .keyed = optional});
    }
    default:
      break;
  }
  if (!value) return add(name, "null", {.omitted = false, .keyed = kind == ParameterKind::kInProp});
  switch (kind) {
    case ParameterKind::kInProp:
      return add(name, prop_text(*static_cast<const CUmemAllocationProp*>(value)), {});
    case ParameterKind::kInAccess:
      return add(name, access_text(static_cast<const CUmemAccessDesc*>(value), count_), {});
    case ParameterKind::kInLocation:
      return add(name, location_text(*static_cast<const CUmemLocation*>(value)), {});
    case ParameterKind::kInObjects:
      return list(ParameterKind::kObject, name, value, count_);
    case ParameterKind::kInAddresses:
      return list(ParameterKind::kAddress, name, value, count_);
    case ParameterKind::kInSizes:
      return list(ParameterKind::kSize, name, value, count_);
    case ParameterKind::kInIndices:
      return list(ParameterKind::kValue, name, value, parts_);
    case ParameterKind::kInLocations: {
      std::string all;
      for (std::size_t i = 0; i < parts_ && i < kMostElements; ++i) {
        all += (i ? ", " : "") + location_text(static_cast<const CUmemLocation*>(value)[i]);
      }
      return add(name, "[" + all + "]", {});
    }
    case ParameterKind::kInBlob:
      return blob(name, value, kBlobBytes);
    case ParameterKind::kInPoolValue: {
      // The value of an unknown attribute is not read, because its length is unknown, too.
      std::uint64_t number = bits;
      if (value_bytes_ == sizeof(int)) {
        int read = 0;
        std::memcpy(&read, value, sizeof read);
        number = extended(read);
      } else if (value_bytes_ != 0) {
        std::memcpy(&number, value, sizeof number);
      }
      return add(name, number_text(number), {});
    }
    case ParameterKind::kHostIn:
    case ParameterKind::kHostOut: {
      std::string text = names_ ? names_->text(kind, bits) : std::string();
      if (text.empty() && host_bytes_) text = "host(" + number_text(host_bytes_) + ")";
      return add(name, text.empty() ? number_text(bits) : text, {});
    }
    default:
      return add(name, address_text(names_, kind, bits), {});
  }
}

std::string CallPrinter::call() const {
  std::string text = std::string(name(entry_)) + "(";
  bool first = true;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (styles_[i].omitted) continue;
    if (!first) text += ", ";
    first = false;
    if (styles_[i].keyed) text += std::string(arguments_[i].name) + "=";
    text += arguments_[i].text;
  }
  return text + ")";
}

std::string call_text(const Call& call, const ValueNames* names) {
  return visit_call<std::string>(call, [&](const auto& typed) { return call_text(typed, names); });
}

std::vector<ArgumentText> argument_texts(const Call& call, const ValueNames* names) {
  return visit_call<std::vector<ArgumentText>>(
      call, [&](const auto& typed) { return argument_texts(typed, names); });
}

}  // namespace cuvmm
