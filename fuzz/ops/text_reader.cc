// SPDX-License-Identifier: Apache-2.0
// The program text as ops: numbers by the executor's own resolver, names by what they are bound to.
#include <algorithm>
#include <cstring>
#include <map>

#include "fuzz/machine/machine_step.h"
#include "fuzz/ops/text.h"
#include "program/program.h"
#include "program/resolve.h"

namespace cuvmm::fuzz {

namespace {

// Every name is worth 0, so that a sum is the distance from it.
class Zero : public NameSource {
 public:
  std::optional<std::uint64_t> lookup(std::string_view) override { return 0; }
  void* buffer(std::size_t, unsigned char) override { return this; }
  std::string missing(std::string_view) const override { return {}; }
};

Code code_of(std::string_view function) {
  if (function == "cuMemsetD16" || function == "cuMemsetD32") return Code::kFill;
  for (std::size_t i = 0; i < kCodes; ++i) {
    if (function == shape(static_cast<Code>(i)).function) return static_cast<Code>(i);
  }
  return Code::kCount;
}

class Reader {
 public:
  /// "" or why the statement has no op.
  std::string read(const Statement& statement, Ops& ops) {
    const bool silent = statement.function == "init" || statement.function == "host" ||
                        statement.function == "bytes";
    if (silent && (statement.function != "init" || statement.thread == 0)) return {};
    Op op;
    op.code = code_of(statement.function);
    if (op.code == Code::kCount) return "no op stands for " + statement.function;
    if (statement.process >= kProcesses) return "too many processes";
    if (statement.thread >= (statement.process ? 1 : kThreads)) return "too many threads";
    op.actor = actor_of(statement.process, statement.thread);
    const FunctionSignature* signature = find_function(statement.function);
    if (!signature) return "unknown function";
    std::vector<ArgumentError> mistakes;
    bound_ = bind_arguments(*signature, statement.arguments, mistakes);
    if (!mistakes.empty()) return mistakes.front().message;
    problem_.clear();
    fill(op, statement);
    if (!resolver_.errors().empty()) return resolver_.errors().front().message;
    const Shape& s = shape(op.code);
    if (s.makes != NameKind::kNone) op.name = name(s.makes, statement.result, true);
    canonicalise(op);
    ops.push_back(op);
    return problem_;
  }

 private:
  const Value* value(std::string_view parameter) const {
    for (std::size_t i = 0; i < bound_.values.size(); ++i) {
      if (bound_.signature->parameters[i].name == parameter) return bound_.values[i];
    }
    return nullptr;
  }
  std::uint64_t number(std::string_view parameter, std::span<const Word> words = {}) {
    const Value* v = value(parameter);
    return v && v->kind != Value::Kind::kNull ? resolver_.number(*v, words) : 0;
  }
  bool null(std::string_view parameter) const {
    const Value* v = value(parameter);
    return v && v->kind == Value::Kind::kNull;
  }

  /// The number of a name: its own digits where they are free.
  std::uint8_t name(NameKind kind, const std::string& text, bool binds) {
    if (text.empty()) return 1;
    auto& names = names_[static_cast<std::size_t>(kind)];
    const auto found = names.find(text);
    if (found != names.end()) return found->second;
    if (!binds) return 0;
    const auto taken = [&](unsigned n) {
      for (const auto& [other, number] : names) {
        if (number == n) return true;
      }
      return false;
    };
    unsigned wish = 0;
    for (std::size_t i = 1; i < text.size() && wish < 256; ++i) {
      if (text[i] >= '0' && text[i] <= '9') wish = wish * 10 + static_cast<unsigned>(text[i] - '0');
    }
    if (wish == 0 || wish > 255 || taken(wish)) {
      for (wish = 1; wish < 255 && taken(wish);) ++wish;
    }
    return names[text] = static_cast<std::uint8_t>(wish);
  }

  std::uint8_t reference(NameKind kind, std::string_view parameter) {
    const Value* v = value(parameter);
    if (v && v->kind == Value::Kind::kSum && !v->parts.empty()) v = &v->parts.front().value;
    return v && v->kind == Value::Kind::kName ? name(kind, v->text, false) : 0;
  }
  void range(std::string_view parameter, std::uint8_t& ref, std::uint8_t& at, std::uint8_t& odd) {
    ref = reference(NameKind::kRange, parameter);
    if (!split(number(parameter), at, odd)) problem_ = "no op holds this distance";
  }
  void size(Op& op, std::string_view parameter = "size") {
    if (!split(number(parameter), op.size, op.odd_size)) problem_ = "no op holds this size";
  }
  void elements(Op& op, std::string_view parameter) {
    const std::uint64_t count = number(parameter);
    if (count > 255) problem_ = "an op copies or fills 255 elements at most";
    op.size = static_cast<std::uint8_t>(count);
  }
  std::uint8_t index_of(std::span<const std::uint64_t> table, std::uint64_t wanted) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i] == wanted) return static_cast<std::uint8_t>(i);
    }
    problem_ = "no op holds this number";
    return 0;
  }
  std::uint8_t place_of(const CUmemLocation& location) {
    for (std::size_t i = 0; i < places().size(); ++i) {
      if (places()[i].type == static_cast<int>(location.type) && places()[i].id == location.id) {
        return static_cast<std::uint8_t>(i);
      }
    }
    problem_ = "no op holds this location";
    return 0;
  }
  void properties(Op& op) {
    if (null("prop")) {
      op.faults |= kNullIn;
      return;
    }
    CUmemAllocationProp prop = resolver_.properties(bound_.properties);
    op.place = place_of(prop.location);
    op.value |= static_cast<std::uint8_t>(prop.requestedHandleTypes);
    const bool metadata = prop.win32HandleMetaData;
    for (std::size_t i = 0; i < twists().size(); ++i) {
      op.extra = static_cast<std::uint8_t>(i);
      const CUmemAllocationProp twisted = properties_of(op);
      const bool same =
          twisted.type == prop.type &&
          std::memcmp(&twisted.allocFlags, &prop.allocFlags, sizeof prop.allocFlags) == 0 &&
          (twisted.win32HandleMetaData != nullptr) == metadata;
      if (same) return;
    }
    problem_ = "no op holds these properties";
  }
  /// The value of a record's field; null when it has none.
  static const Value* field(const Value& record, std::string_view key) {
    for (const Argument& part : record.parts) {
      if (part.key == key) return &part.value;
    }
    return nullptr;
  }
  void distance_of(std::uint64_t wanted, std::uint8_t& granules, std::uint8_t& odd) {
    if (!split(wanted, granules, odd)) problem_ = "no op holds this distance";
  }
  void external(Op& op) {
    op.ref = reference(NameKind::kExternal, "extMem");
    if (op.ref == 0 && number("extMem") != 0) op.extra |= kWild;
  }
  void external_import(Op& op) {
    const Value* record = value("memHandleDesc");
    if (!record || record->kind == Value::Kind::kNull) {
      op.faults |= kNullIn;
      return;
    }
    const auto desc = resolver_.record<CUDA_EXTERNAL_MEMORY_HANDLE_DESC>(*record);
    const Value* fd = field(*record, "fd");
    if (fd && fd->kind == Value::Kind::kName) op.ref = name(NameKind::kDescriptor, fd->text, false);
    if (op.ref == 0 && desc.handle.fd > 0) op.extra |= kWild;
    op.value = static_cast<std::uint8_t>(std::min<unsigned>(desc.type, 15));
    distance_of(desc.size, op.size, op.odd_size);
    op.flags = static_cast<std::uint8_t>(desc.flags);
    if (desc.reserved[0]) op.extra |= kReservedWord;
  }
  void external_buffer(Op& op) {
    const Value* record = value("bufferDesc");
    if (!record || record->kind == Value::Kind::kNull) {
      op.faults |= kNullIn;
      return;
    }
    const auto desc = resolver_.record<CUDA_EXTERNAL_MEMORY_BUFFER_DESC>(*record);
    distance_of(desc.offset, op.at, op.odd);
    distance_of(desc.size, op.size, op.odd_size);
    op.flags = static_cast<std::uint8_t>(desc.flags);
    if (desc.reserved[0]) op.extra |= kReservedWord;
  }
  void descriptors(Op& op, std::string_view parameter) {
    if (null(parameter)) {
      op.faults |= kNullIn;
    } else if (const Value* list = value(parameter)) {
      const auto access = resolver_.access(*list);
      if (access.empty() || access.size() > 2) {
        problem_ = "an op has one descriptor or two";
        return;
      }
      op.place = place_of(access[0].location);
      op.value = static_cast<std::uint8_t>(access[0].flags);
      if (access.size() == 1) return;
      op.extra = static_cast<std::uint8_t>(1 + place_of(access[1].location));
      if (access[1].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        problem_ = "an op's second descriptor gives rw";
      }
    }
  }
  void pool_properties(Op& op) {
    const Value* record = value("poolProps");
    if (!record || record->kind == Value::Kind::kNull) {
      op.faults |= kNullIn;
      return;
    }
    const auto props = resolver_.record<CUmemPoolProps>(*record);
    op.place = place_of(props.location);
    op.value = static_cast<std::uint8_t>(props.handleTypes);
    for (std::size_t i = 1; i < pool_twists().size(); ++i) {
      const Value* twisted = field(*record, pool_twists()[i].key);
      if (twisted && twisted->kind == Value::Kind::kNumber) op.extra = static_cast<std::uint8_t>(i);
    }
  }
  void device(Op& op) {
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = static_cast<int>(number("dev"));
    op.place = place_of(location);
  }
  void team(Op& op) {
    const Value* record = value("prop");
    if (!record || record->kind == Value::Kind::kNull) {
      op.faults |= kNullIn;
      return;
    }
    const auto prop = resolver_.record<CUmulticastObjectProp>(*record);
    op.extra = static_cast<std::uint8_t>(std::min<unsigned>(prop.numDevices, kAllOnes));
    distance_of(prop.size, op.size, op.odd_size);
    op.value |= static_cast<std::uint8_t>(prop.handleTypes);
    op.flags = static_cast<std::uint8_t>(prop.flags);
  }
  void no_out(Op& op, std::string_view parameter) {
    if (null(parameter)) op.faults |= kNullOut;
  }

  void fill(Op& op, const Statement& statement) {
    const Shape& s = shape(op.code);
    op.flags = static_cast<std::uint8_t>(number("flags"));
    const auto words = handle_type_words();
    switch (op.code) {
      case Code::kContext:
        op.place =
            static_cast<std::uint8_t>(bound_.values[0] ? resolver_.number(*bound_.values[0]) : 0);
        break;
      case Code::kReserve:
        size(op);
        op.extra = index_of(alignments(), number("alignment"));
        range("addr", op.ref, op.at, op.odd);
        no_out(op, "ptr");
        break;
      case Code::kMap:
        op.ref2 = reference(s.ref2, "handle");
        op.extra = index_of(offsets(), number("offset"));
        [[fallthrough]];
      case Code::kFree:
      case Code::kUnmap:
        range("ptr", op.ref, op.at, op.odd);
        size(op);
        break;
      case Code::kCreate:
        size(op);
        properties(op);
        no_out(op, "handle");
        break;
      case Code::kRelease:
        op.ref = reference(s.ref, "handle");
        break;
      case Code::kClose:
        op.ref = reference(s.ref, bound_.signature->parameters[0].name);
        break;
      case Code::kSetAccess:
        range("ptr", op.ref, op.at, op.odd);
        size(op);
        if (null("desc")) {
          op.faults |= kNullIn;
        } else if (const Value* list = value("desc")) {
          const auto access = resolver_.access(*list);
          if (access.empty() || access.size() > 2) {
            problem_ = "an op has one descriptor or two";
            break;
          }
          op.place = place_of(access[0].location);
          op.value = static_cast<std::uint8_t>(access[0].flags);
          if (access.size() == 2) {
            op.extra = static_cast<std::uint8_t>(1 + place_of(access[1].location));
            if (access[1].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
              problem_ = "an op's second descriptor gives rw";
            }
          }
          if (value("count") && number("count") == 0) op.faults |= kNoCount;
        }
        break;
      case Code::kGetAccess:
        range("ptr", op.ref, op.at, op.odd);
        if (null("location")) {
          op.faults |= kNullIn;
        } else if (const Value* location = value("location")) {
          op.place = place_of(resolver_.location(*location));
        }
        no_out(op, "flags");
        op.flags = 0;
        break;
      case Code::kExport:
        op.ref = reference(s.ref, "handle");
        op.value = static_cast<std::uint8_t>(number("handleType", words));
        no_out(op, "shareableHandle");
        break;
      case Code::kImport:
        op.ref = reference(s.ref, "osHandle");
        if (op.ref == 0 && number("osHandle") != 0) op.extra = 1;
        op.value = static_cast<std::uint8_t>(number("shHandleType", words));
        no_out(op, "handle");
        break;
      case Code::kGranularity:
        op.value = static_cast<std::uint8_t>(number("option", granularity_words()) << 4);
        properties(op);
        no_out(op, "granularity");
        break;
      case Code::kProperties:
        op.ref = reference(s.ref, "handle");
        no_out(op, "prop");
        break;
      case Code::kRetain:
        range("addr", op.ref, op.at, op.odd);
        no_out(op, "handle");
        break;
      case Code::kRangeHandle:
        range("dptr", op.ref, op.at, op.odd);
        size(op);
        op.value = static_cast<std::uint8_t>(number("handleType", range_type_words()));
        no_out(op, "handle");
        break;
      case Code::kFill: {
        const std::string_view function = statement.function;
        op.extra = function == "cuMemsetD8" ? 0 : function == "cuMemsetD16" ? 1 : 2;
        constexpr const char* kValue[] = {"uc", "us", "ui"};
        op.value = static_cast<std::uint8_t>(number(kValue[op.extra]));
        range("dstDevice", op.ref, op.at, op.odd);
        elements(op, "N");
        break;
      }
      case Code::kRead:
        range("srcDevice", op.ref, op.at, op.odd);
        elements(op, "ByteCount");
        break;
      case Code::kWrite: {
        range("dstDevice", op.ref, op.at, op.odd);
        elements(op, "ByteCount");
        const Value* host = value("srcHost");
        if (host && host->kind == Value::Kind::kCall && host->parts.size() > 1) {
          op.value = static_cast<std::uint8_t>(resolver_.number(host->parts[1].value));
        }
        break;
      }
      case Code::kCopy:
        range("dstDevice", op.ref, op.at, op.odd);
        range("srcDevice", op.ref2, op.at2, op.odd2);
        elements(op, "ByteCount");
        break;
      case Code::kMemFree:
        range("dptr", op.ref, op.at, op.odd);
        break;
      case Code::kExtImport:
        no_out(op, "extMem_out");
        external_import(op);
        break;
      case Code::kExtBuffer:
        no_out(op, "devPtr");
        external(op);
        external_buffer(op);
        break;
      case Code::kExtDestroy:
        external(op);
        break;
      case Code::kPoolCreate:
        no_out(op, "pool");
        pool_properties(op);
        break;
      case Code::kPoolDefault:
        device(op);
        break;
      case Code::kPoolSet:
        device(op);
        [[fallthrough]];
      case Code::kPoolDestroy:
        op.ref = reference(s.ref, "pool");
        break;
      case Code::kPoolAlloc:
        op.ref = reference(s.ref, "pool");
        size(op, "bytesize");
        no_out(op, "dptr");
        break;
      case Code::kAlloc:
        size(op, "bytesize");
        break;
      case Code::kFreeAsync:
      case Code::kIpcClose:
        range("dptr", op.ref, op.at, op.odd);
        break;
      case Code::kPoolSetAccess:
        op.ref = reference(s.ref, "pool");
        descriptors(op, "map");
        break;
      case Code::kPoolExport:
        op.ref = reference(s.ref, "pool");
        op.value = static_cast<std::uint8_t>(number("handleType", words));
        no_out(op, "handle_out");
        break;
      case Code::kPoolImport:
        op.ref = reference(s.ref, "handle");
        if (op.ref == 0 && number("handle") != 0) op.extra = kWild;
        op.value = static_cast<std::uint8_t>(number("handleType", words));
        no_out(op, "pool_out");
        break;
      case Code::kPointerExport:
        range("ptr", op.ref, op.at, op.odd);
        no_out(op, "shareData_out");
        break;
      case Code::kPointerImport:
        op.ref = reference(s.ref, "pool");
        op.ref2 = reference(s.ref2, "shareData");
        if (null("shareData")) op.faults |= kNullIn;
        no_out(op, "ptr_out");
        break;
      case Code::kIpcGet:
        range("dptr", op.ref, op.at, op.odd);
        no_out(op, "pHandle");
        break;
      case Code::kIpcOpen:
        op.ref = reference(s.ref, "handle");
        if (const Value* bytes = value("handle"); bytes && bytes->kind == Value::Kind::kString) {
          op.extra = bytes->text.empty() ? 0 : kWild;
        }
        op.flags = static_cast<std::uint8_t>(number("Flags"));
        no_out(op, "pdptr");
        break;
      case Code::kMcCreate:
        no_out(op, "mcHandle");
        team(op);
        break;
      case Code::kMcGranularity:
        no_out(op, "granularity");
        op.value = static_cast<std::uint8_t>(number("option", granularity_words()) << 4);
        team(op);
        break;
      case Code::kMcAddDevice:
        op.ref = reference(s.ref, "mcHandle");
        device(op);
        break;
      case Code::kMcUnbind:
        op.ref = reference(s.ref, "mcHandle");
        device(op);
        distance_of(number("mcOffset"), op.at, op.odd);
        size(op);
        break;
      case Code::kMcBindMem:
      case Code::kMcBindAddr:
        op.ref = reference(s.ref, "mcHandle");
        distance_of(number("mcOffset"), op.at, op.odd);
        if (op.code == Code::kMcBindAddr) {
          range("memptr", op.ref2, op.at2, op.odd2);
        } else {
          op.ref2 = reference(s.ref2, "memHandle");
          distance_of(number("memOffset"), op.at2, op.odd2);
        }
        size(op);
        break;
      case Code::kCount:
        break;
    }
  }

  Zero zero_;
  Resolver resolver_{zero_};
  BoundArguments bound_;
  std::map<std::string, std::uint8_t> names_[kNameKinds];
  std::string problem_;
};

}  // namespace

TextOps from_text(std::string_view text) {
  TextOps out;
  const ParsedProgram parsed = parse_program(text);
  if (!parsed.errors.empty()) {
    out.error = format_error(parsed.errors.front(), "program");
    return out;
  }
  Reader reader;
  for (const Statement& statement : parsed.program.statements) {
    const std::string problem = reader.read(statement, out.ops);
    if (problem.empty()) continue;
    out.error = std::to_string(statement.line) + ": " + problem;
    return out;
  }
  return out;
}

}  // namespace cuvmm::fuzz
