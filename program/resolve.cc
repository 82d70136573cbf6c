// SPDX-License-Identifier: Apache-2.0
#include "program/resolve.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "api/location.h"
#include "api/record_fields.h"

namespace cuvmm::program {

bool CallStorage::Out::touched() const {
  return std::any_of(bytes.begin(), bytes.end(), [](unsigned char b) { return b != kUntouched; });
}

void Resolver::fail(const Value& value, std::string expected) {
  errors_.push_back({value.column, std::move(expected)});
}

std::uint64_t Resolver::number(const Value& value, std::span<const Word> words) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return 0;
    case Value::Kind::kNumber:
      return value.number;
    case Value::Kind::kName: {
      if (const auto word = find_word(words, value.text)) return *word;
      if (const auto bound = names_.lookup(value.text)) return *bound;
      fail(value, names_.missing(value.text));
      return 0;
    }
    case Value::Kind::kSum: {
      std::uint64_t sum = 0;
      for (const Argument& part : value.parts) {
        const std::uint64_t term = number(part.value, words);
        sum = part.key == "-" ? sum - term : sum + term;
      }
      return sum;
    }
    case Value::Kind::kAny: {
      std::uint64_t bits = 0;
      for (const Argument& part : value.parts) bits |= number(part.value, words);
      return bits;
    }
    case Value::Kind::kCall: {
      if (value.text != "host") break;
      std::vector<ArgumentError> mistakes;
      const BoundArguments bound = bind_arguments(*find_function("host"), value.parts, mistakes);
      errors_.insert(errors_.end(), mistakes.begin(), mistakes.end());
      if (!mistakes.empty()) return 0;
      const auto fill = bound.values[1] ? number(*bound.values[1]) : 0;
      return reinterpret_cast<std::uintptr_t>(
          names_.buffer(number(*bound.values[0]), static_cast<unsigned char>(fill)));
    }
    default:
      break;
  }
  fail(value, "expected a number or a name, found '" + print(value) + "'");
  return 0;
}

std::string Resolver::string(const Value& value) {
  if (value.kind != Value::Kind::kString)
    fail(value, "expected a string, found '" + print(value) + "'");
  return value.text;
}

namespace {
CUmemLocation make_location(std::uint64_t type, std::uint64_t id) {
  return cuvmm::make_location(static_cast<int>(type), static_cast<int>(id));
}
}  // namespace

// device0, host, host_numa1, host_numa_current: a location's word with its id at the end.
std::optional<CUmemLocation> Resolver::location_word(std::string_view word) const {
  const std::size_t digits = word.find_last_not_of("0123456789") + 1;
  const auto type = find_word(location_type_words(), word.substr(0, digits));
  if (!type) return std::nullopt;
  const std::string_view number = word.substr(digits);
  if (*type == kLocationInvisible) {
    return number.empty() ? std::optional(make_location(kLocationInvisible, kDeviceInvalid))
                          : std::nullopt;
  }
  const bool wants_id =
      *type == CU_MEM_LOCATION_TYPE_DEVICE || *type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
  if (wants_id == number.empty()) return std::nullopt;
  int id = 0;
  if (wants_id && std::from_chars(number.begin(), number.end(), id).ec != std::errc())
    return std::nullopt;
  return make_location(*type, static_cast<std::uint64_t>(id));
}

CUmemLocation Resolver::location(const Value& value) {
  if (value.kind == Value::Kind::kName) {
    if (const auto word = location_word(value.text)) return *word;
  }
  if (value.kind == Value::Kind::kCall && value.text == "location" && value.parts.size() == 2) {
    return make_location(number(value.parts[0].value, location_type_words()),
                         number(value.parts[1].value));
  }
  if (value.kind == Value::Kind::kCall && value.text == "domain" && value.parts.size() == 2) {
    return domain_location(static_cast<int>(number(value.parts[0].value)),
                           static_cast<int>(number(value.parts[1].value)));
  }
  fail(value,
       "expected a location (device0, host, host_numa0, domain(DEVICE, DOMAIN), "
       "location(TYPE, ID)), found '" +
           print(value) + "'");
  return {};
}

std::vector<CUmemAccessDesc> Resolver::access(const Value& value) {
  std::vector<CUmemAccessDesc> descriptors;
  if (value.kind != Value::Kind::kList) {
    fail(value,
         "expected a list of descriptors such as [device0:rw], found '" + print(value) + "'");
    return descriptors;
  }
  for (const Argument& part : value.parts) {
    if (part.value.kind != Value::Kind::kPair) {
      fail(part.value,
           "expected LOCATION:ACCESS such as device0:rw, found '" + print(part.value) + "'");
      continue;
    }
    CUmemAccessDesc descriptor{};
    descriptor.location = location(part.value.parts[0].value);
    const Value& flags = part.value.parts[1].value;
    if (flags.kind == Value::Kind::kCall && flags.text == "flags" && flags.parts.size() == 1) {
      descriptor.flags = static_cast<CUmemAccess_flags>(number(flags.parts[0].value));
    } else if (const auto word = find_word(access_words(), flags.text);
               word && flags.kind == Value::Kind::kName) {
      descriptor.flags = static_cast<CUmemAccess_flags>(*word);
    } else {
      fail(flags, "expected none, r, rw or flags(N), found '" + print(flags) + "'");
    }
    descriptors.push_back(descriptor);
  }
  return descriptors;
}

CUmemAllocationProp Resolver::properties(const std::vector<const Argument*>& properties) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  for (const Argument* argument : properties) {
    const Value& value = argument->value;
    const std::string_view key = argument->key;
    if (key.empty()) {
      prop.location = location(value);
    } else if (const auto type = find_word(location_type_words(), key)) {
      prop.location = make_location(*type, number(value));
    } else if (key == "domain") {
      if (value.kind != Value::Kind::kPair) {
        fail(value, "expected DEVICE:DOMAIN, found '" + print(value) + "'");
        continue;
      }
      prop.location = domain_location(static_cast<int>(number(value.parts[0].value)),
                                      static_cast<int>(number(value.parts[1].value)));
    } else if (key == "location") {
      if (value.kind != Value::Kind::kPair) {
        fail(value, "expected TYPE:ID, found '" + print(value) + "'");
        continue;
      }
      prop.location = make_location(number(value.parts[0].value, location_type_words()),
                                    number(value.parts[1].value));
    } else if (key == "type") {
      prop.type = static_cast<CUmemAllocationType>(number(value, allocation_type_words()));
    } else if (key == "handle_types") {
      prop.requestedHandleTypes =
          static_cast<CUmemAllocationHandleType>(number(value, handle_type_words()));
    } else if (key == "compression") {
      prop.allocFlags.compressionType = static_cast<unsigned char>(number(value));
    } else if (key == "rdma") {
      prop.allocFlags.gpuDirectRDMACapable = static_cast<unsigned char>(number(value));
    } else if (key == "usage") {
      prop.allocFlags.usage = static_cast<unsigned short>(number(value, usage_words()));
    } else if (key == "win32_metadata") {
      // A readable address, so that a driver that reads there does not crash.
      static char metadata[64];
      prop.win32HandleMetaData = number(value) ? metadata : nullptr;
    } else {
      prop.allocFlags.reserved[key.back() - '0'] = static_cast<unsigned char>(number(value));
    }
  }
  return prop;
}

template <class Record>
Record Resolver::record(const Value& value) {
  Record record{};
  if (value.kind != Value::Kind::kRecord) {
    fail(value, "expected a record such as {size=2M}, found '" + print(value) + "'");
    return record;
  }
  for (const Argument& part : value.parts) {
    bool known = false;
    std::string keys;
    visit_record(record, [&]<class T>(const RecordField& field, T& member) {
      keys += (keys.empty() ? "" : ", ") + std::string(field.key);
      if (part.key != field.key) return;
      known = true;
      if constexpr (std::is_same_v<T, CUmemLocation>) {
        member = location(part.value);
      } else if constexpr (std::is_pointer_v<T>) {
        member = reinterpret_cast<T>(number(part.value));
      } else {
        member = static_cast<T>(number(part.value, field.words));
      }
    });
    if (!known) fail(part.value, "expected a field of it (" + keys + "), found '" + part.key + "'");
  }
  return record;
}

std::array<unsigned char, kBlobBytes> Resolver::blob(const Value& value) {
  std::array<unsigned char, kBlobBytes> bytes{};
  if (value.kind == Value::Kind::kName) {
    number(value);  // reports a name that nothing binds
    const auto known = names_.bytes(value.text);
    std::copy_n(known.begin(), std::min(known.size(), bytes.size()), bytes.begin());
    return bytes;
  }
  if (value.kind != Value::Kind::kString) {
    fail(value, "expected a name or a string of hexadecimal digits, found '" + print(value) + "'");
    return bytes;
  }
  const std::string_view digits = value.text;
  bool fits = digits.size() % 2 == 0 && digits.size() <= 2 * bytes.size();
  for (std::size_t i = 0; fits && i < digits.size(); i += 2) {
    const char* end = digits.data() + i + 2;
    fits = std::from_chars(digits.data() + i, end, bytes[i / 2], 16).ptr == end;
  }
  if (!fits) fail(value, "expected up to 64 bytes as hexadecimal digits");
  return bytes;
}

std::vector<std::uint64_t> Resolver::list(const Value& value) {
  std::vector<std::uint64_t> numbers;
  if (value.kind != Value::Kind::kList) {
    fail(value, "expected a list, found '" + print(value) + "'");
    return numbers;
  }
  for (const Argument& part : value.parts) numbers.push_back(number(part.value));
  return numbers;
}

std::vector<LaunchArgument> Resolver::launch_arguments(const Value& value) {
  std::vector<LaunchArgument> all;
  if (value.kind != Value::Kind::kList) {
    fail(value, "expected a list of arguments such as [r0, 1, 64], found '" + print(value) + "'");
    return all;
  }
  for (const Argument& part : value.parts) {
    const bool structure = part.value.kind == Value::Kind::kList;
    all.push_back(structure ? list(part.value) : LaunchArgument{number(part.value)});
  }
  return all;
}

std::vector<CUmemLocation> Resolver::locations(const Value& list) {
  std::vector<CUmemLocation> all;
  if (list.kind != Value::Kind::kList) {
    fail(list, "expected a list of locations, found '" + print(list) + "'");
    return all;
  }
  for (const Argument& part : list.parts) all.push_back(location(part.value));
  return all;
}

namespace {

// Fills one parameter, by its kind and its C type.
class Filler {
 public:
  Filler(Resolver& resolver, const BoundArguments& bound, CallStorage& storage)
      : resolver_(resolver), bound_(bound), storage_(storage) {}

  template <class T>
  void operator()(ParameterKind kind, const char*, const T& constant) {
    // The struct itself is not constant; visit() only shows its fields as constants.
    T& field = const_cast<T&>(constant);
    const std::size_t at = next_++;
    const Value* value = bound_.values[at];
    const Parameter& parameter = bound_.signature->parameters[at];
    if (parameter.output) {
      if constexpr (std::is_pointer_v<T>) field = value ? nullptr : output<T>(kind, at);
      return;
    }
    if (kind == ParameterKind::kInProp && !value) return property(field);
    if (kind == ParameterKind::kCount && !value && parameter.optional) {
      if constexpr (std::is_integral_v<T>) field = static_cast<T>(storage_.listed);
      return;
    }
    if (!value || value->kind == Value::Kind::kNull) return;
    if constexpr (std::is_same_v<T, const CUmemAccessDesc*>) {
      storage_.access = resolver_.access(*value);
      storage_.listed = storage_.access.size();
      field = storage_.access.data();
      if (storage_.access.empty()) field = &kNoDescriptor;  // an empty array is no null pointer
    } else if constexpr (std::is_same_v<T, const CUmemLocation*> ||
                         std::is_same_v<T, CUmemLocation*>) {
      if constexpr (std::is_same_v<T, CUmemLocation*>) {
        if (kind == ParameterKind::kInLocations) {
          field = keep(resolver_.locations(*value));
          return;
        }
      }
      if (kind == ParameterKind::kInLocation) {
        storage_.location = resolver_.location(*value);
        field = &storage_.location;
      } else {  // a buffer for several locations
        field = reinterpret_cast<T>(resolver_.number(*value));
      }
    } else if constexpr (kIsRecord<std::remove_pointer_t<T>>) {
      using Record = std::remove_const_t<std::remove_pointer_t<T>>;
      field = kind == ParameterKind::kInRecord
                  ? keep(std::vector<Record>{resolver_.record<Record>(*value)})
                  : records<Record>(*value);
    } else if constexpr (std::is_same_v<T, CUmemLocation>) {
      field = resolver_.location(*value);
    } else if constexpr (std::is_class_v<T>) {
      const auto bytes = resolver_.blob(*value);
      static_assert(sizeof field == sizeof bytes);
      std::memcpy(&field, bytes.data(), sizeof field);
    } else if constexpr (std::is_same_v<T, CUmemPoolPtrExportData*>) {
      const auto bytes = resolver_.blob(*value);
      field = reinterpret_cast<T>(keep(std::vector<unsigned char>(bytes.begin(), bytes.end())));
    } else if constexpr (std::is_same_v<T, void**>) {
      auto owned = std::make_shared<LaunchArguments>(resolver_.launch_arguments(*value));
      field = owned->pointer(parameter.name);
      storage_.records.push_back(std::move(owned));
    } else if constexpr (std::is_pointer_v<T>) {
      if (kind == ParameterKind::kInBlob) {
        const auto bytes = resolver_.blob(*value);
        field = reinterpret_cast<T>(keep(std::vector<unsigned char>(bytes.begin(), bytes.end())));
      } else if (kind == ParameterKind::kOpaque || kind == ParameterKind::kInObjects ||
                 kind == ParameterKind::kInAddresses || kind == ParameterKind::kInSizes ||
                 kind == ParameterKind::kInIndices) {
        storage_.lists.push_back(resolver_.list(*value));
        storage_.listed = storage_.lists.back().size();
        field = reinterpret_cast<T>(storage_.lists.back().data());
      } else if (kind == ParameterKind::kInPoolValue) {  // the value's low bytes come first
        storage_.lists.push_back({resolver_.number(*value)});
        field = reinterpret_cast<T>(storage_.lists.back().data());
      } else {
        field = reinterpret_cast<T>(resolver_.number(*value, words_of(kind)));
      }
    } else {
      field = static_cast<T>(resolver_.number(*value, words_of(kind)));
    }
  }

 private:
  static constexpr CUmemAccessDesc kNoDescriptor{};

  // The first element of a copy that lives as long as the storage.
  template <class T>
  T* keep(std::vector<T> values) {
    auto owned = std::make_shared<std::vector<T>>(std::move(values));
    storage_.records.push_back(owned);
    return owned->data();
  }
  template <class Record>
  Record* records(const Value& list) {
    std::vector<Record> all;
    if (list.kind != Value::Kind::kList) {
      resolver_.fail(list, "expected a list of records, found '" + print(list) + "'");
    } else {
      for (const Argument& part : list.parts) all.push_back(resolver_.record<Record>(part.value));
    }
    storage_.listed = all.size();
    all.emplace_back();  // an empty array is no null pointer
    return keep(std::move(all));
  }

  template <class T>
  T output(ParameterKind kind, std::size_t at) {
    CallStorage::Out& out = storage_.outs[at];
    // An attribute may be shorter than its slot, so the slot starts at zero and reads as a number.
    const bool zeroed = kind == ParameterKind::kOpaque || kind == ParameterKind::kHostOut ||
                        kind == ParameterKind::kOutPoolValue;
    out.bytes.fill(zeroed ? 0 : CallStorage::kUntouched);
    return reinterpret_cast<T>(out.bytes.data());
  }
  template <class T>
  void property(T& field) {
    if constexpr (std::is_same_v<T, const CUmemAllocationProp*>) {
      storage_.prop = resolver_.properties(bound_.properties);
      field = &storage_.prop;
    }
  }

  Resolver& resolver_;
  const BoundArguments& bound_;
  CallStorage& storage_;
  std::size_t next_ = 0;
};

template <class CallStruct>
Call filled(Resolver& resolver, const BoundArguments& bound, CallStorage& storage) {
  CallStruct call{};
  call.visit(Filler(resolver, bound, storage));
  return call;
}

}  // namespace

Call Resolver::call(const BoundArguments& bound, CallStorage& storage) {
  switch (bound.signature->entry) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return filled<calls::Name>(*this, bound, storage);
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
    case EntryPoint::kCount:
      break;
  }
  return {};
}

}  // namespace cuvmm::program
