#include "api/c_statement.h"

#include <array>
#include <set>

#include "api/print.h"
#include "api/resolve.h"

namespace cuvmm {

namespace {

// The C types of an entry point's parameters, as cuda.h spells them.
std::span<const char* const> parameter_types(EntryPoint entry) {
  switch (entry) {
#define CUVMM_C_TYPE(kind, type, name) #type,
#define CUVMM_ENTRY(Name, area, ...)                                                         \
  case EntryPoint::k##Name: {                                                                \
    static const char* const kTypes[] = {CUVMM_FOR_EACH(CUVMM_C_TYPE, __VA_ARGS__) nullptr}; \
    return kTypes;                                                                           \
  }
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base __VA_OPT__(, ) __VA_ARGS__)
#include "api/entry_points.def"
#undef CUVMM_C_TYPE
    case EntryPoint::kCount:
      break;
  }
  return {};
}

std::string literal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%llu" : "0x%llxull",
                static_cast<unsigned long long>(value));
  return text;
}

/// A number of the program as a C expression of type u64.
std::string expression(const Value& value, std::span<const Word> words = {}) {
  switch (value.kind) {
    case Value::Kind::kNumber:
      return literal(value.number);
    case Value::Kind::kName:
      for (const Word& word : words) {
        if (word.word == value.text) {
          return word.c_name.empty() ? literal(word.value) : std::string(word.c_name);
        }
      }
      return "v_" + value.text;
    case Value::Kind::kSum: {
      std::string sum = "(";
      for (const Argument& part : value.parts) {
        sum += part.key == "-" ? (sum == "(" ? "0 - " : " - ") : (sum == "(" ? "" : " + ");
        sum += expression(part.value, words);
      }
      return sum + ")";
    }
    case Value::Kind::kAny: {
      std::string any = "(";
      for (const Argument& part : value.parts) {
        any += (any == "(" ? "" : " | ") + expression(part.value, words);
      }
      return any + ")";
    }
    case Value::Kind::kCall: {
      std::vector<ArgumentError> ignored;
      const BoundArguments bound = bind_arguments(*find_function("host"), value.parts, ignored);
      return "(u64)(uintptr_t)host(" + expression(*bound.values[0]) + ", (int)" +
             (bound.values[1] ? expression(*bound.values[1]) : "0") + ")";
    }
    default:
      return "0";
  }
}

void collect(const Value& value, std::set<std::string>& names) {
  if (value.kind == Value::Kind::kName) names.insert(value.text);
  for (const Argument& part : value.parts) collect(part.value, names);
}

/// Numbers do not matter here: locations and flags hold no names in practice, or resolve to them.
class NoNames : public NameSource {
 public:
  std::optional<std::uint64_t> lookup(std::string_view) override { return 0; }
  void* buffer(std::size_t, unsigned char) override { return nullptr; }
  std::string missing(std::string_view) const override { return {}; }
};

class Block {
 public:
  Block(const Statement& statement, int line) : statement_(statement), line_(line) {}

  std::string text() {
    const FunctionSignature& function = *find_function(statement_.function);
    std::vector<ArgumentError> ignored;
    bound_ = bind_arguments(function, statement_.arguments, ignored);
    std::string condition;
    for (const std::string& name : used_names()) {
      condition += (condition.empty() ? "" : " && ") + ("has_" + name);
    }
    if (!statement_.result.empty()) after_ = "    has_" + statement_.result + " = 0;\n";
    function.pseudo == Pseudo::kNone ? call(function) : pseudo(function);
    std::string quoted;
    Statement plain = statement_;
    plain.expected.reset();
    plain.note.clear();
    for (char c : print(plain))
      quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    const std::string expected =
        statement_.expected ? std::to_string(static_cast<int>(*statement_.expected)) : "-1";
    std::string block = "\n  /* " + print(statement_) + " */\n";
    block += condition.empty() ? "  {\n" : "  if (" + condition + ") {\n";
    block += "    *value = 0;\n" + before_ + after_;
    block += "    report(" + std::to_string(line_) + ", \"" + quoted + "\", result, value, " +
             expected + ", \"" + statement_.expected_value + "\");\n";
    if (ends_) block += "    return failures != 0;\n";
    block += "  }";
    if (!condition.empty()) {
      block += " else {\n    not_run(" + std::to_string(line_) + ", \"" + quoted + "\", " +
               expected + ");\n  }";
    }
    return block + "\n";
  }

 private:
  std::set<std::string> used_names() const {
    std::set<std::string> names;
    const auto& parameters = bound_.signature->parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ParameterKind kind = parameters[i].kind;
      if (!bound_.values[i] || kind == ParameterKind::kInLocation ||
          kind == ParameterKind::kInAccess)
        continue;
      const bool yes_no = bound_.signature->pseudo == Pseudo::kInit && i == 0;
      std::set<std::string> found;
      collect(*bound_.values[i], found);
      for (const std::string& name : found) {
        const bool memory_type = find_word(memory_type_words(), name).has_value() &&
                                 bound_.values[i]->kind == Value::Kind::kRecord;
        if (!yes_no && !memory_type && !find_word(words_of(kind), name)) names.insert(name);
      }
    }
    return names;
  }

  void line(const std::string& text) { before_ += "    " + text + "\n"; }

  // The name's value, when the call succeeded.
  void bind(const std::string& value) {
    if (statement_.result.empty() || bound_already_) return;
    bound_already_ = true;
    after_ += "    v_" + statement_.result + " = " + value + ";\n    has_" + statement_.result +
              " = result == CUDA_SUCCESS;\n";
  }
  void show(const std::string& format, const std::string& value) {
    after_ += "    if (result == CUDA_SUCCESS) snprintf(value, sizeof value, \"" + format + "\", " +
              value + ");\n";
  }

  static std::string set_location(const std::string& where, const CUmemLocation& location) {
    return where + ".type = (CUmemLocationType)" + std::to_string(static_cast<int>(location.type)) +
           "; " + where + ".id = " + std::to_string(location.id) + ";";
  }

  void properties() {
    NoNames names;
    const CUmemAllocationProp prop = Resolver(names).properties(bound_.properties);
    line("CUmemAllocationProp prop;");
    line("memset(&prop, 0, sizeof prop);");
    line("prop.type = (CUmemAllocationType)" + std::to_string(static_cast<int>(prop.type)) + ";");
    line(set_location("prop.location", prop.location));
    const auto field = [&](const char* name, unsigned value) {
      if (value) line("prop." + std::string(name) + " = " + std::to_string(value) + ";");
    };
    if (prop.requestedHandleTypes) {
      line("prop.requestedHandleTypes = (CUmemAllocationHandleType)" +
           std::to_string(static_cast<unsigned>(prop.requestedHandleTypes)) + ";");
    }
    field("allocFlags.compressionType", prop.allocFlags.compressionType);
    field("allocFlags.gpuDirectRDMACapable", prop.allocFlags.gpuDirectRDMACapable);
    field("allocFlags.usage", prop.allocFlags.usage);
    for (int i = 0; i < 4; ++i) {
      field(("allocFlags.reserved[" + std::to_string(i) + "]").c_str(),
            prop.allocFlags.reserved[i]);
    }
    if (prop.win32HandleMetaData) line("prop.win32HandleMetaData = value;");
  }

  void access(const Value& value) {
    NoNames names;
    const auto descriptors = Resolver(names).access(value);
    line("CUmemAccessDesc desc[" + std::to_string(descriptors.size() + 1) + "];");
    line("memset(desc, 0, sizeof desc);");
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const std::string at = "desc[" + std::to_string(i) + "]";
      line(set_location(at + ".location", descriptors[i].location));
      line(at + ".flags = (CUmemAccess_flags)" +
           std::to_string(static_cast<int>(descriptors[i].flags)) + ";");
    }
    descriptor_count_ = descriptors.size();
  }

  // {srcDevice=r0, ...}: C converts the numbers; pointers need a cast through the field's own type.
  void record(const std::string& type, const std::string& name, const Value& value) {
    line(type + " " + name + ";");
    line("memset(&" + name + ", 0, sizeof " + name + ");");
    for (const Argument& field : value.parts) {
      const std::string target = name + "." + field.key;
      const bool pointer = field.key.ends_with("Host") || field.key.ends_with("Array") ||
                           field.key.ends_with("Context");
      const bool memory_type = field.key.ends_with("MemoryType");
      line(target + " = " +
           (pointer       ? "(void*)(uintptr_t)"
            : memory_type ? "(CUmemorytype)"
                          : "") +
           expression(field.value, memory_type ? memory_type_words() : std::span<const Word>()) +
           ";");
    }
  }

  void output(const Parameter& parameter, const std::string& type, const std::string& name) {
    switch (parameter.kind) {
      case ParameterKind::kOutShareable:
        line("union { int fd; unsigned char bytes[64]; } " + name + ";");
        line("memset(&" + name + ", 0, sizeof " + name + ");");
        return bind("is_fabric ? (u64)(uintptr_t)memcpy(host(64, 0), " + name +
                    ".bytes, 64) : (u64)(int64_t)" + name + ".fd");
      case ParameterKind::kOutProp:
        line("CUmemAllocationProp " + name + ";");
        return;
      case ParameterKind::kOpaque:
        line("u64 " + name + " = 0;");
        bind(name);
        return show("%llu", name);
      default:
        break;
    }
    const std::string base = type.substr(0, type.size() - 1);
    line(base + " " + name + " = 0;");
    const bool number =
        parameter.kind == ParameterKind::kOutSize || parameter.kind == ParameterKind::kOutFlags;
    const bool pointer = base.ends_with("*") || base == "CUcontext";
    bind(pointer ? "(u64)(uintptr_t)" + name : "(u64)" + name);
    const EntryPoint entry = bound_.signature->entry;
    if (entry == EntryPoint::kMemGetInfo || entry == EntryPoint::kDriverGetVersion) return;
    if (number) show("%llu", "(u64)" + name);
    if (parameter.kind == ParameterKind::kOutInt) show("%d", "(int)" + name);
  }

  void call(const FunctionSignature& function) {
    const auto types = parameter_types(function.entry);
    std::string arguments;
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      const Parameter& parameter = function.parameters[i];
      const std::string type = types[i];
      const Value* value = bound_.values[i];
      const bool null = value && value->kind == Value::Kind::kNull;
      const std::string name = "p_" + std::string(parameter.name);
      std::string argument = "0";
      if (parameter.output) {
        if (!null) output(parameter, type, name);
        argument = null ? "NULL" : "(" + type + ")&" + name;
      } else if (parameter.kind == ParameterKind::kInProp) {
        if (!null) properties();
        argument = null ? "NULL" : "&prop";
      } else if (null) {
        argument = "NULL";
      } else if (!value) {
        if (parameter.kind == ParameterKind::kCount) argument = std::to_string(descriptor_count_);
        if (parameter.kind == ParameterKind::kOption) argument = "(" + type + ")0";
      } else if (parameter.kind == ParameterKind::kInAccess) {
        access(*value);
        argument = "desc";
      } else if (parameter.kind == ParameterKind::kInLocation) {
        NoNames names;
        line("CUmemLocation location;");
        line("memset(&location, 0, sizeof location);");
        line(set_location("location", Resolver(names).location(*value)));
        argument = "&location";
      } else if (value->kind == Value::Kind::kRecord) {
        record(type.substr(std::string_view("const ").size(), type.size() - 7), name, *value);
        argument = "&" + name;
      } else if (value->kind == Value::Kind::kList) {
        argument = list(type, name, *value);
      } else {
        const bool pointer = type.ends_with("*") || parameter.kind == ParameterKind::kStream ||
                             parameter.kind == ParameterKind::kContext ||
                             parameter.kind == ParameterKind::kArray;
        argument = "(" + type + ")" + (pointer ? "(uintptr_t)" : "") +
                   expression(*value, words_of(parameter.kind));
        if (parameter.kind == ParameterKind::kHandleType) {
          line("const int is_fabric = (" + argument + ") == CU_MEM_HANDLE_TYPE_FABRIC;");
          line("(void)is_fabric;");
        }
        if (parameter.kind == ParameterKind::kRangeHandleType) line("const int is_fabric = 0;");
        if (parameter.kind == ParameterKind::kRangeHandleType) line("(void)is_fabric;");
      }
      arguments += (arguments.empty() ? "" : ", ") + argument;
    }
    line("result = " + std::string(function.name) + "(" + arguments + ");");
  }

  std::string list(const std::string& type, const std::string& name, const Value& value) {
    const std::string element = type.substr(0, type.size() - 1);
    if (element == "CUmemcpyAttributes") {
      NoNames names;
      line(element + " " + name + "[" + std::to_string(value.parts.size() + 1) + "];");
      line("memset(" + name + ", 0, sizeof " + name + ");");
      for (std::size_t i = 0; i < value.parts.size(); ++i) {
        const std::string at = name + "[" + std::to_string(i) + "]";
        for (const Argument& field : value.parts[i].value.parts) {
          if (field.key == "src" || field.key == "dst") {
            line(set_location(at + "." + field.key + "LocHint",
                              Resolver(names).location(field.value)));
          } else {
            line(at + "." + field.key + " = " + expression(field.value) + ";");
          }
        }
      }
      return name;
    }
    std::string items;
    for (const Argument& part : value.parts)
      items += "(" + element + ")" + expression(part.value) + ", ";
    line(element + " " + name + "[] = {" + items + "0};");
    return name;
  }

  void pseudo(const FunctionSignature& function) {
    const auto argument = [&](std::size_t i) {
      static constexpr Word kYesNo[] = {{"no", 0, ""}, {"yes", 1, ""}};
      const bool yes_no = function.pseudo == Pseudo::kInit && i == 0;
      return bound_.values[i] ? expression(*bound_.values[i], yes_no ? std::span<const Word>(kYesNo)
                                                                     : std::span<const Word>())
                              : std::string("0");
    };
    line("result = CUDA_SUCCESS;");
    switch (function.pseudo) {
      case Pseudo::kInit:
        line("u64 context = 0;");
        line("result = cuInit(0);");
        if (!bound_.values[0] || argument(0) != "0") {
          line("if (result == CUDA_SUCCESS) result = make_current((int)" + argument(1) +
               ", &context);");
        }
        return bind("context");
      case Pseudo::kContext:
        line("u64 context = 0;");
        line("result = make_current((int)" + argument(0) + ", &context);");
        return bind("context");
      case Pseudo::kHost:
        return bind("(u64)(uintptr_t)host(" + argument(0) + ", (int)" + argument(1) + ")");
      case Pseudo::kBytes:
      case Pseudo::kPeek:
        return line("hex(value, (void*)(uintptr_t)" + argument(0) + ", " + argument(1) + ");");
      case Pseudo::kPoke:
        return line("*(volatile unsigned char*)(uintptr_t)" + argument(0) + " = (unsigned char)" +
                    argument(1) + ";");
      case Pseudo::kSame:
        return show("%d", "(u64)" + argument(0) + " == (u64)" + argument(1));
      case Pseudo::kDifference:
        return show("%lld", "(long long)((u64)" + argument(0) + " - (u64)" + argument(1) + ")");
      case Pseudo::kAligned:
        return show("%d", "(u64)" + argument(0) + " % (u64)" + argument(1) + " == 0");
      case Pseudo::kOpen:
        return bind("(u64)(int64_t)open(\"" + bound_.values[0]->text + "\", O_RDWR | O_CLOEXEC)");
      case Pseudo::kMemfd:
        return bind("(u64)(int64_t)make_memfd(" + argument(0) + ")");
      case Pseudo::kDescriptor:
        return show("%s", "descriptor((int)" + argument(0) + ")");
      case Pseudo::kClose:
        return line("if (close((int)" + argument(0) + ") != 0) strcpy(value, \"failed\");");
      case Pseudo::kReceive:
        return bind(argument(0));
      case Pseudo::kExit:
        ends_ = true;
        return;
      case Pseudo::kNone:
        return;
    }
  }

  const Statement& statement_;
  int line_;
  BoundArguments bound_;
  std::string before_;
  std::string after_;
  std::size_t descriptor_count_ = 0;
  bool bound_already_ = false;
  bool ends_ = false;
};

}  // namespace

std::string c_statement(const Statement& statement, int line) {
  return Block(statement, line).text();
}

}  // namespace cuvmm
