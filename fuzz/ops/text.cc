// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/text.h"

#include "api/words.h"
#include "program/program.h"

namespace cuvmm::fuzz {

namespace {

constexpr char kPrefix[kNameKinds] = {'?', 'r', 'h', 'd', 'x', 'o', 's'};

std::uint64_t distance(std::uint8_t granules, std::uint8_t odd) {
  return granules * kGranule + kOdd[odd];
}

std::string num(std::uint64_t value) { return number_text(value); }

/// Writes one op after the other; knows which names are bound so far.
class Writer {
 public:
  std::string line(const Op& op, const Note& note) {
    std::string out;
    const int process = process_of(op), thread = thread_of(op);
    std::string actor = thread ? "@t" + std::to_string(thread) + " " : "";
    if (process) actor = "@p" + std::to_string(process) + " ";
    const std::string comment = note.text.empty() ? "" : "  # " + note.text;
    if (op.code == Code::kRead) {
      const std::string buffer = "b" + std::to_string(++buffers_);
      const std::string size = std::to_string(op.size);
      // An empty buffer would be no buffer.
      out = actor + buffer + " = host(" + (op.size ? size : "1") + ", fill=0xcd)\n";
      out += actor + "cuMemcpyDtoH(" + buffer + ", " + address(op) + ", " + size + ")" + comment;
      if (op.size && !note.bytes.empty()) {
        out += "\n" + actor + "bytes(" + buffer + ", " + size + ")  # CUDA_SUCCESS =" + note.bytes;
      }
      return out + "\n";
    }
    const Shape& s = shape(op.code);
    if (op.code == Code::kClose) {
      bool& bound = bound_[static_cast<std::size_t>(s.ref)][op.ref];
      if (!bound || given_[op.ref]) return {};  // closes nothing
      bound = false;
      return actor + "close(" + name(s.ref, op.ref) + ")\n";
    }
    out = actor;
    const bool named = s.makes != NameKind::kNone && !(op.faults & kNullOut);
    if (named) out += name(s.makes, op.name) + " = ";
    out += call(op) + comment + "\n";
    if (s.makes != NameKind::kNone) {
      auto& bound = bound_[static_cast<std::size_t>(s.makes)][op.name];
      // A call without an out-parameter binds nothing: the name is as if it had failed.
      if (named) bound = true;
      if (named && s.makes == NameKind::kDescriptor) given_[op.name] = false;
    }
    // It may be the driver's now: the program does not close it any more.
    if (op.code == Code::kExtImport) given_[op.ref] = true;
    return out;
  }

 private:
  static std::string name(NameKind kind, std::uint8_t number) {
    return kPrefix[static_cast<std::size_t>(kind)] + std::to_string(number);
  }
  std::string reference(NameKind kind, std::uint8_t number) const {
    return bound_[static_cast<std::size_t>(kind)][number] ? name(kind, number) : "0";
  }
  std::string sum(std::uint8_t ref, std::uint64_t added) const {
    const std::string base = reference(NameKind::kRange, ref);
    if (base == "0") return num(added);
    return added ? base + "+" + num(added) : base;
  }
  std::string address(const Op& op) const { return sum(op.ref, distance(op.at, op.odd)); }

  static std::string location_keys(const Op& op) {
    const Place place = places()[op.place];
    const unsigned types = op.code == Code::kGranularity ? op.value & 15u : op.value;
    std::string out;
    if (place.type == 1 && place.id >= 0) {
      out = "device=" + std::to_string(place.id);
    } else if (place.type == 2 && place.id == 0) {
      out = "host";
    } else if (place.type == 3) {
      out = "host_numa=" + std::to_string(place.id);
    } else {
      out = "location=" + std::to_string(place.type) + ":" + std::to_string(place.id);
    }
    if (types) out += ", handle_types=" + bits_text(handle_type_words(), types);
    const PropertyTwist& twist = twists()[op.extra];
    if (*twist.key) out += std::string(", ") + twist.key + "=" + std::to_string(twist.value);
    return out;
  }
  static std::string location(std::uint8_t index) {
    const Place place = places()[index];
    if (place.type == 1 && place.id >= 0) return "device" + std::to_string(place.id);
    if (place.type == 2 && place.id == 0) return "host";
    if (place.type == 3) return "host_numa" + std::to_string(place.id);
    return "location(" + std::to_string(place.type) + ", " + std::to_string(place.id) + ")";
  }
  static std::string access(unsigned flags) {
    const std::string_view word = find_value(access_words(), flags);
    return word.empty() ? "flags(" + std::to_string(flags) + ")" : std::string(word);
  }

  std::string external(const Op& op) const {
    const std::string name = reference(NameKind::kExternal, op.ref);
    return op.extra & kWild ? num(kGarbage) : name == "0" ? "null" : name;
  }
  static std::string external_record(const Op& op, const std::string& middle) {
    std::string out = "{";
    if (op.code == Code::kExtImport) {
      const std::string_view word = find_value(external_memory_type_words(), op.value);
      out += "type=" + (word.empty() ? std::to_string(op.value) : std::string(word)) + ", ";
    }
    out += middle + ", size=" + num(distance(op.size, op.odd_size));
    if (op.flags) out += ", flags=" + std::to_string(op.flags);
    if (op.extra & kReservedWord) out += ", reserved0=1";
    return out + "}";
  }

  std::string pool(const Op& op) const {
    const std::string name = reference(NameKind::kPool, op.ref);
    return name == "0" ? "null" : name;
  }
  std::string blob(std::uint8_t ref, bool forged) const {
    std::string name = reference(NameKind::kBlob, ref);
    if (!forged) return name == "0" ? "\"\"" : name;
    name = "\"";
    for (int i = 0; i < 64; ++i) name += "a5";
    return name + "\"";
  }
  static std::string pool_record(const Op& op) {
    const PropertyTwist& twist = pool_twists()[op.extra];
    std::string out =
        std::string_view(twist.key) == "allocType" ? "{allocType=0" : "{allocType=pinned";
    if (op.value) out += ", handleTypes=" + bits_text(handle_type_words(), op.value);
    out += ", location=" + location(op.place);
    if (op.extra > 1) out += std::string(", ") + twist.key + "=" + num(twist.value);
    return out + "}";
  }
  static std::string team_record(const Op& op, unsigned types) {
    std::string out =
        "{numDevices=" + num(team_size(op.extra)) + ", size=" + num(distance(op.size, op.odd_size));
    if (types) out += ", handleTypes=" + bits_text(handle_type_words(), types);
    if (op.flags) out += ", flags=" + std::to_string(op.flags);
    return out + "}";
  }

  std::string call(const Op& op) const {
    const Shape& s = shape(op.code);
    const std::string size = num(distance(op.size, op.odd_size));
    const std::string first = reference(s.ref, op.ref);
    const bool no_in = op.faults & kNullIn;
    std::string out = std::string(s.function) + "(";
    const std::string flags = op.flags ? ", flags=" + std::to_string(op.flags) : "";
    const auto no_out = [&](const char* parameter) {
      return op.faults & kNullOut ? std::string(", ") + parameter + "=null" : std::string();
    };
    const auto extra = [](const char* key, std::uint64_t value) {
      return value ? std::string(", ") + key + "=" + num(value) : std::string();
    };
    switch (op.code) {
      case Code::kContext:
        return out + std::to_string(op.place) + ")";
      case Code::kReserve: {
        const std::string hint = address(op);
        return out + size + extra("alignment", alignments()[op.extra]) +
               (hint == "0" ? "" : ", addr=" + hint) + flags + no_out("ptr") + ")";
      }
      case Code::kFree:
      case Code::kUnmap:
        return out + address(op) + ", " + size + ")";
      case Code::kCreate:
        return out + size + ", " + (no_in ? "prop=null" : location_keys(op)) + flags +
               no_out("handle") + ")";
      case Code::kRelease:
        return out + first + ")";
      case Code::kMap:
        return out + address(op) + ", " + size + ", " + reference(s.ref2, op.ref2) +
               extra("offset", offsets()[op.extra]) + flags + ")";
      case Code::kSetAccess: {
        std::string list = "[" + location(op.place) + ":" + access(op.value);
        if (op.extra) list += ", " + location(static_cast<std::uint8_t>(op.extra - 1)) + ":rw";
        list += ']';
        return out + address(op) + ", " + size + ", " + (no_in ? "null, count=1" : list) +
               (op.faults & kNoCount ? ", count=0" : "") + ")";
      }
      case Code::kGetAccess:
        return out + (no_in ? "null" : location(op.place)) + ", " + address(op) + no_out("flags") +
               ")";
      case Code::kExport:
        return out + first + ", " + bits_text(handle_type_words(), op.value) + flags +
               no_out("shareableHandle") + ")";
      case Code::kImport:
        return out + (op.extra ? num(kNoDescriptor) : first) + ", " +
               bits_text(handle_type_words(), op.value) + no_out("handle") + ")";
      case Code::kGranularity:
        return out + (no_in ? "prop=null" : location_keys(op)) +
               (op.value >> 4 ? ", option=" + std::to_string(op.value >> 4) : "") +
               no_out("granularity") + ")";
      case Code::kProperties:
        return out + first + no_out("prop") + ")";
      case Code::kRetain:
        return out + address(op) + no_out("handle") + ")";
      case Code::kRangeHandle:
        return out + address(op) + ", " + size + ", " +
               word_text(words_of(ParameterKind::kRangeHandleType), op.value) + flags +
               no_out("handle") + ")";
      case Code::kFill: {
        const char* names[] = {"cuMemsetD8(", "cuMemsetD16(", "cuMemsetD32("};
        const unsigned value = op.value * 0x01020301u;
        const unsigned mask = op.extra == 0 ? 0xffu : op.extra == 1 ? 0xffffu : ~0u;
        return names[op.extra] + address(op) + ", " + std::to_string(value & mask) + ", " +
               std::to_string(op.size) + ")";
      }
      case Code::kWrite: {
        const std::string bytes = std::to_string(op.size);
        return out + address(op) + ", host(" + (op.size ? bytes : "1") +
               ", fill=" + std::to_string(op.value) + "), " + bytes + ")";
      }
      case Code::kCopy:
        return out + address(op) + ", " + sum(op.ref2, distance(op.at2, op.odd2)) + ", " +
               std::to_string(op.size) + ")";
      case Code::kMemFree:
        return out + address(op) + ")";
      case Code::kExtImport: {
        const std::string fd = op.extra & kWild ? num(kNoDescriptor) : first == "0" ? "-1" : first;
        return out + (no_in ? "null" : external_record(op, "fd=" + fd)) + no_out("extMem_out") +
               ")";
      }
      case Code::kExtBuffer: {
        const std::string offset = num(distance(op.at, op.odd));
        return out + external(op) + ", " +
               (no_in ? "null" : external_record(op, "offset=" + offset)) + no_out("devPtr") + ")";
      }
      case Code::kExtDestroy:
        return out + external(op) + ")";
      case Code::kPoolCreate:
        return out + (no_in ? "null" : pool_record(op)) + no_out("pool") + ")";
      case Code::kPoolDefault:
        return out + std::to_string(device_number(op.place)) + ")";
      case Code::kPoolDestroy:
        return out + pool(op) + ")";
      case Code::kPoolAlloc:
        return out + size + ", " + pool(op) + no_out("dptr") + ")";
      case Code::kFreeAsync:
      case Code::kIpcClose:
        return out + address(op) + ")";
      case Code::kPoolSetAccess: {
        std::string list = "[" + location(op.place) + ":" + access(op.value);
        if (op.extra) list += ", " + location(static_cast<std::uint8_t>(op.extra - 1)) + ":rw";
        return out + pool(op) + ", " + (no_in ? "null, count=1" : list + "]") + ")";
      }
      case Code::kPoolSet:
        return out + std::to_string(device_number(op.place)) + ", " + pool(op) + ")";
      case Code::kPoolExport:
        return out + pool(op) + ", " + bits_text(handle_type_words(), op.value) + flags +
               no_out("handle_out") + ")";
      case Code::kPoolImport:
        return out + (op.extra & kWild ? num(kNoDescriptor) : first) + ", " +
               bits_text(handle_type_words(), op.value) + flags + no_out("pool_out") + ")";
      case Code::kPointerExport:
        return out + address(op) + no_out("shareData_out") + ")";
      case Code::kPointerImport:
        return out + pool(op) + ", " + (no_in ? "null" : blob(op.ref2, false)) + no_out("ptr_out") +
               ")";
      case Code::kAlloc:
        return out + size + ")";
      case Code::kIpcGet:
        return out + address(op) + no_out("pHandle") + ")";
      case Code::kIpcOpen:
        return out + blob(op.ref, op.extra & kWild) + ", " + std::to_string(op.flags) +
               no_out("pdptr") + ")";
      case Code::kMcCreate:
        return out + (no_in ? "null" : team_record(op, op.value)) + no_out("mcHandle") + ")";
      case Code::kMcAddDevice:
        return out + first + ", " + std::to_string(device_number(op.place)) + ")";
      case Code::kMcBindMem:
        return out + first + ", " + num(distance(op.at, op.odd)) + ", " +
               reference(s.ref2, op.ref2) + ", " + num(distance(op.at2, op.odd2)) + ", " + size +
               flags + ")";
      case Code::kMcBindAddr:
        return out + first + ", " + num(distance(op.at, op.odd)) + ", " +
               sum(op.ref2, distance(op.at2, op.odd2)) + ", " + size + flags + ")";
      case Code::kMcUnbind:
        return out + first + ", " + std::to_string(device_number(op.place)) + ", " +
               num(distance(op.at, op.odd)) + ", " + size + ")";
      case Code::kMcGranularity:
        return out + (no_in ? "null" : team_record(op, op.value & 15u)) +
               ", option=" + std::to_string(op.value >> 4) + no_out("granularity") + ")";
      default:
        return out + ")";
    }
  }

  bool bound_[kNameKinds][256] = {};
  bool given_[256] = {};  ///< descriptors that were offered as external memory
  int buffers_ = 0;
};

}  // namespace

std::string to_text(const Ops& ops, std::span<const Note> notes) {
  std::string lines = "\n";
  Writer writer;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    lines += writer.line(ops[i], i < notes.size() ? notes[i] : Note{});
  }
  static_assert(kProcesses == 2);
  const bool second = lines.find("\n@p1 ") != std::string::npos;
  return "cuvmm-program 1\ninit()" + std::string(second ? "\n@p1 init()" : "") + lines;
}

}  // namespace cuvmm::fuzz
