// SPDX-License-Identifier: Apache-2.0
#include "program/c/c_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <vector>

#include "api/driver/driver.h"
#include "program/c/c_expression.h"
#include "program/c/c_field.h"
#include "program/c/c_prelude.h"
#include "program/kernel/kernels.h"
#include "program/resolve.h"
#include "program/signature.h"

namespace cuvmm::program {

namespace {

// The C types of an entry point's parameters, as entry_points.def spells them.
const std::vector<std::string>& parameter_types(EntryPoint entry) {
  static const std::vector<std::vector<std::string>> types = {
#define CUVMM_TYPE_TEXT(kind, type, name) #type,
#define CUVMM_ENTRY(Name, area, ...) {CUVMM_FOR_EACH(CUVMM_TYPE_TEXT, __VA_ARGS__)},
#define CUVMM_BASE(Name, ...) {CUVMM_FOR_EACH(CUVMM_TYPE_TEXT, __VA_ARGS__)},
#include "api/entry_points.def"
#undef CUVMM_TYPE_TEXT
  };
  return types[static_cast<std::size_t>(entry)];
}

// Structures are written as numbers, because the value of a name exists only at run time.
class NoNames : public NameSource {
 public:
  std::optional<std::uint64_t> lookup(std::string_view) override { return {}; }
  void* buffer(std::size_t, unsigned char) override { return nullptr; }
  std::string missing(std::string_view name) const override {
    return "'" + std::string(name) + "' inside a structure cannot be written as C";
  }
};

// The text without its comment lines, because these quote program text, which looks like calls.
std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  /* ", 0) != 0) result += line + "\n";
  }
  return result;
}

// The C text of the kernels that kernel() names, and of the functions that load them.
std::string kernel_source() {
  std::string text = "\nstatic const char kernels[] =\n";
  std::istringstream lines(kernel_text());
  for (std::string line; std::getline(lines, line);) text += "    " + c_string(line + "\n") + "\n";
  text.insert(text.size() - 1, ";");
  return text + R"c(
static CUresult load_kernel(const char* name, uint64_t* made) {
  CUmodule module = NULL;
  CUfunction function = NULL;
  CUresult result = cuModuleLoadData(&module, kernels);
  if (result == CUDA_SUCCESS) result = cuModuleGetFunction(&function, module, name);
  *made = (uint64_t)(uintptr_t)function;
  return result;
}
)c";
}

// Whether `text` calls the function: the text has its name and a bracket, and the name does not end
// a longer name.
bool calls_function(const std::string& text, const std::string& name) {
  const std::string call = name + "(";
  for (std::size_t at = text.find(call); at != text.npos; at = text.find(call, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    if (!std::isalnum(static_cast<unsigned char>(before)) && before != '_') return true;
  }
  return false;
}

// Whether some headers lack the function, or have it with other parameters under the same name.
bool not_everywhere(std::string_view function, EntryPoint entry) {
  constexpr int kOldestHeaders = 12040;
  constexpr std::string_view kChanged[] = {"cuMemPrefetchAsync", "cuMemAdvise"};  // in 13.0
  const auto symbol = static_cast<std::size_t>(Driver::primary_symbol(entry));
  return symbols()[symbol].version > kOldestHeaders || function.ends_with("_v2") ||
         std::ranges::count(kChanged, function) != 0;
}

class Writer {
 public:
  // Writes the statement into main(); names become variables.
  void write(const Statement& statement) {
    line_ = statement.line;
    if (statement.process != 0 || statement.thread != 0) {
      return fail("a program with several processes or threads cannot be written as C");
    }
    const FunctionSignature* signature = find_function(statement.function);
    if (!signature) return fail("unknown function " + statement.function);
    std::vector<ArgumentError> errors;
    const BoundArguments bound = bind_arguments(*signature, statement.arguments, errors);
    if (!errors.empty()) return fail(errors.front().message);
    if (!statement.result.empty()) names_.insert(statement.result);
    body_ += fmt::format("\n  /* {} */\n  {{\n", comment(statement));
    if (signature->pseudo == Pseudo::kNone) {
      call(statement, bound);
    } else {
      pseudo(statement, bound);
    }
    body_ += "  }\n";
  }

  CSource finish(const std::string& origin) const {
    CSource source{"", errors_};
    if (!errors_.empty()) return source;
    source.text = fmt::format("/* Written by cuvmm to-c from {}. Build: cc program.c -lcuda */\n{}",
                              safe(origin), kCIncludes);
    std::string main = "\nint main(void) {\n";
    for (const std::string& name : names_)
      main += fmt::format("  uint64_t {} = 0;\n", c_variable(name));
    main += body_ + "\n  return different;\n}\n";
    const std::string code = without_comments(main);
    std::string helpers;
    if (calls_function(code, "load_kernel")) helpers = kernel_source();
    // From the last helper to the first, because a helper may need helpers before it.
    for (std::size_t i = std::size(kCHelpers); i-- > 0;) {
      if (calls_function(code + helpers, kCHelpers[i].name)) {
        helpers = kCHelpers[i].text + helpers;
      }
    }
    source.text += helpers + main;
    return source;
  }

 private:
  void fail(const std::string& why) {
    errors_ += fmt::format("{}{}: {}", errors_.empty() ? "" : "\n", line_, why);
  }
  void add(const std::string& line) { body_ += "    " + line + "\n"; }

  static std::string safe(std::string text) {
    for (std::size_t at; (at = text.find("*/")) != text.npos;) text.replace(at, 2, "* /");
    return text;
  }
  static std::string comment(const Statement& statement) {
    std::string text = print(statement);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return safe(fmt::format("line {}: {}", statement.line, text));
  }

  std::string number(const Value& value, std::span<const Word> words = {}) {
    std::string error;
    std::string text = c_expression(value, words, error);
    if (!error.empty()) fail(error);
    return text;
  }
  std::string argument(const BoundArguments& bound, std::size_t at, const char* otherwise = "0") {
    return bound.values[at] ? number(*bound.values[at]) : otherwise;
  }

  void check(const Statement& statement, const std::string& result) {
    std::string expected = "-1";
    if (statement.expected) expected = std::to_string(static_cast<int>(*statement.expected));
    add(fmt::format("check({}, \"{}\", {}, {});", line_, statement.function, result, expected));
  }

  // Declares what one parameter of an entry point needs, and returns the C argument.
  std::string parameter(const BoundArguments& bound, std::size_t at, const std::string& type) {
    const Parameter& it = bound.signature->parameters[at];
    const Value* value = bound.values[at];
    const std::string name(it.name);
    if (it.output) return value ? "NULL" : output(name, type);
    if (it.kind == ParameterKind::kInProp && !value) return properties(bound, name);
    if (it.kind == ParameterKind::kCount && !value) return std::to_string(descriptors_);
    if (!value) return fmt::format("({})0", type);
    if (value->kind == Value::Kind::kNull) return fmt::format("({})0", type);
    if (type == "void**") return launch_arguments(*value, name);
    switch (it.kind) {
      case ParameterKind::kInAccess:
        return access(*value, name);
      case ParameterKind::kInLocation:
        return type.back() == '*' ? location(*value, name) : location(*value, name).substr(1);
      case ParameterKind::kInRecord:
        return "&" + record(*value, name, structure_of(type));
      case ParameterKind::kInRecords:
        return records(*value, name, structure_of(type));
      case ParameterKind::kInObjects:
      case ParameterKind::kInAddresses:
      case ParameterKind::kInSizes:
      case ParameterKind::kInIndices:
        return objects(*value, name, structure_of(type));
      case ParameterKind::kInPoolValue:
        add(fmt::format("uint64_t {} = {};", name, number(*value)));
        return "&" + name;
      case ParameterKind::kBlob:
        return blob(*value, name, type);
      case ParameterKind::kInBlob:
        return "&" + blob(*value, name, structure_of(type));
      default:
        break;
    }
    const bool pointer = type.back() == '*' || it.kind == ParameterKind::kContext ||
                         it.kind == ParameterKind::kStream || it.kind == ParameterKind::kArray ||
                         it.kind == ParameterKind::kObject;
    return fmt::format("({}){}{}", type, pointer ? "(uintptr_t)" : "",
                       number(*value, words_of(it.kind)));
  }

  std::string output(const std::string& name, const std::string& type) {
    const std::string target = type.substr(0, type.size() - 1);
    if (target == "void") {
      add(fmt::format("unsigned char {}[64] = {{0}};", name));
      bound_value_ = bound_value_.empty() ? fmt::format("low_bytes({}, 8)", name) : bound_value_;
      return name;
    }
    // A name is bound to the address of opaque bytes, so the bytes must outlive the block.
    const bool blob = target == "CUipcMemHandle" || target == "CUipcEventHandle" ||
                      target == "CUmemPoolPtrExportData";
    add(fmt::format("{}{} {};", blob ? "static " : "", target, name));
    add(fmt::format("memset(&{0}, 0, sizeof {0});", name));
    if (blob) {
      if (bound_value_.empty()) bound_value_ = fmt::format("(uint64_t)(uintptr_t)&{}", name);
    } else if (bound_value_.empty() && target != "CUmemAllocationProp") {
      bound_value_ = fmt::format("(uint64_t)(uintptr_t){}", name);
    }
    return "&" + name;
  }

  std::string properties(const BoundArguments& bound, const std::string& name) {
    NoNames no_names;
    Resolver resolver(no_names);
    const CUmemAllocationProp prop = resolver.properties(bound.properties);
    if (!resolver.errors().empty()) fail(resolver.errors().front().message);
    add(fmt::format("CUmemAllocationProp {};", name));
    add(fmt::format("memset(&{0}, 0, sizeof {0});", name));
    const auto field = [&](const char* path, const char* type, std::uint64_t value) {
      if (value) add(fmt::format("{}.{} = ({}){};", name, path, type, value));
    };
    field("type", "CUmemAllocationType", static_cast<std::uint64_t>(prop.type));
    field("requestedHandleTypes", "CUmemAllocationHandleType",
          static_cast<std::uint64_t>(prop.requestedHandleTypes));
    field("location.type", "CUmemLocationType", static_cast<std::uint64_t>(prop.location.type));
    if (prop.location.id) add(fmt::format("{}.location.id = {};", name, prop.location.id));
    if (prop.win32HandleMetaData) {
      add("static char metadata[64];");
      add(fmt::format("{}.win32HandleMetaData = metadata;", name));
    }
    field("allocFlags.compressionType", "unsigned char", prop.allocFlags.compressionType);
    field("allocFlags.gpuDirectRDMACapable", "unsigned char", prop.allocFlags.gpuDirectRDMACapable);
    field("allocFlags.usage", "unsigned short", prop.allocFlags.usage);
    for (int i = 0; i < 4; ++i) {
      field(fmt::format("allocFlags.reserved[{}]", i).c_str(), "unsigned char",
            prop.allocFlags.reserved[i]);
    }
    return "&" + name;
  }

  std::string access(const Value& value, const std::string& name) {
    NoNames no_names;
    Resolver resolver(no_names);
    const std::vector<CUmemAccessDesc> list = resolver.access(value);
    if (!resolver.errors().empty()) fail(resolver.errors().front().message);
    descriptors_ = list.size();
    add(fmt::format("CUmemAccessDesc {}[{}];", name, std::max<std::size_t>(1, list.size())));
    add(fmt::format("memset({0}, 0, sizeof {0});", name));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string one = fmt::format("{}[{}]", name, i);
      set_location(one + ".location", list[i].location);
      add(fmt::format("{}.flags = (CUmemAccess_flags){};", one,
                      static_cast<unsigned>(list[i].flags)));
    }
    return name;
  }

  std::string location(const Value& value, const std::string& name) {
    NoNames no_names;
    Resolver resolver(no_names);
    const CUmemLocation where = resolver.location(value);
    if (!resolver.errors().empty()) fail(resolver.errors().front().message);
    add(fmt::format("CUmemLocation {};", name));
    add(fmt::format("memset(&{0}, 0, sizeof {0});", name));
    set_location(name, where);
    return "&" + name;
  }

  void set_location(const std::string& target, const CUmemLocation& where) {
    add(fmt::format("{}.type = (CUmemLocationType){};", target, static_cast<unsigned>(where.type)));
    add(fmt::format("{}.id = {};", target, static_cast<int>(where.id)));
  }

  // A launch's arguments in order: a pointer to each, or all packed in one buffer.
  std::string launch_arguments(const Value& list, const std::string& name) {
    if (list.kind != Value::Kind::kList) fail("expected a list of arguments");
    std::string words, pointers;
    std::size_t count = 0;
    for (const Argument& part : list.parts) {
      pointers += fmt::format("&{}_words[{}], ", name, count);
      const bool structure = part.value.kind == Value::Kind::kList;
      for (std::size_t i = 0; i < (structure ? part.value.parts.size() : 1); ++i, ++count) {
        words += number(structure ? part.value.parts[i].value : part.value) + ", ";
      }
    }
    add(fmt::format("uint64_t {}_words[] = {{{}0u}};", name, words));
    if (name == "extra") {
      add(fmt::format("size_t extra_size = {} * sizeof(uint64_t);", count));
      add("void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, extra_words, "
          "CU_LAUNCH_PARAM_BUFFER_SIZE, &extra_size, CU_LAUNCH_PARAM_END};");
    } else {
      add(fmt::format("void* {}[] = {{{}NULL}};", name, pointers));
    }
    return name;
  }

  // "const CUDA_MEMCPY2D*": the structure's name without const and star.
  static std::string structure_of(const std::string& type) {
    const std::size_t from = type.starts_with("const ") ? 6 : 0;
    return type.substr(from, type.size() - from - 1);
  }

  std::string record(const Value& value, const std::string& name, const std::string& structure) {
    add(fmt::format("{} {};", structure, name));
    add(fmt::format("memset(&{0}, 0, sizeof {0});", name));
    set_fields(value, name, structure);
    return name;
  }

  void set_fields(const Value& value, const std::string& name, const std::string& structure) {
    for (const Argument& part : value.parts) {
      const CField* field = c_field(structure, part.key);
      if (!field) {
        fail("no field " + part.key + " of " + structure);
      } else if (field->location) {
        NoNames no_names;
        Resolver resolver(no_names);
        set_location(name + "." + field->path, resolver.location(part.value));
      } else {
        add(fmt::format("{}.{} = {}{};", name, field->path, field->cast,
                        number(part.value, field->words)));
      }
    }
  }

  std::string records(const Value& list, const std::string& name, const std::string& structure) {
    descriptors_ = list.parts.size();
    add(fmt::format("{} {}[{}];", structure, name, descriptors_ + 1));
    add(fmt::format("memset({0}, 0, sizeof {0});", name));
    for (std::size_t i = 0; i < list.parts.size(); ++i)
      set_fields(list.parts[i].value, fmt::format("{}[{}]", name, i), structure);
    return name;
  }

  std::string objects(const Value& list, const std::string& name, const std::string& type) {
    descriptors_ = list.parts.size();
    add(fmt::format("{} {}[{}];", type, name, descriptors_ + 1));
    for (std::size_t i = 0; i < list.parts.size(); ++i)
      add(fmt::format("{}[{}] = ({})(uintptr_t){};", name, i, type, number(list.parts[i].value)));
    return name;
  }

  // 64 opaque bytes: from another call's result, or from a string of digits.
  std::string blob(const Value& value, const std::string& name, const std::string& type) {
    add(fmt::format("{} {};", type, name));
    add(fmt::format("memset(&{0}, 0, sizeof {0});", name));
    if (value.kind == Value::Kind::kString) {
      for (std::size_t i = 0; i + 1 < value.text.size(); i += 2) {
        add(fmt::format("((unsigned char*)&{})[{}] = 0x{};", name, i / 2, value.text.substr(i, 2)));
      }
    } else {
      add(fmt::format("memcpy(&{0}, (const void*)(uintptr_t){1}, sizeof {0});", name,
                      number(value)));
    }
    return name;
  }

  void call(const Statement& statement, const BoundArguments& bound) {
    const std::vector<std::string>& types = parameter_types(bound.signature->entry);
    if (not_everywhere(statement.function, bound.signature->entry)) {
      return fail(statement.function + " cannot be written as C: it is not in every <cuda.h>");
    }
    descriptors_ = 0;
    bound_value_.clear();
    std::string arguments;
    for (std::size_t i = 0; i < types.size(); ++i) {
      arguments += (i ? ", " : "") + parameter(bound, i, types[i]);
    }
    add(fmt::format("const CUresult result = {}({});", statement.function, arguments));
    if (!statement.result.empty() && !bound_value_.empty()) {
      // A descriptor is an int in the first bytes of its untyped storage.
      const std::string from =
          statement.function == "cuMemExportToShareableHandle" ||
                  statement.function == "cuMemPoolExportToShareableHandle" ||
                  statement.function == "cuMemGetHandleForAddressRange"
              ? "low_bytes(" + bound_value_.substr(10, bound_value_.find(',') - 10) + ", 4)"
              : bound_value_;
      add(fmt::format("if (result == CUDA_SUCCESS) {} = {};", c_variable(statement.result), from));
    }
    check(statement, "result");
  }

  void bind_or_show(const Statement& statement, const std::string& value) {
    if (statement.result.empty())
      return add(fmt::format("show({}, \"{}\", {});", line_, statement.function, value));
    add(fmt::format("{} = {};", c_variable(statement.result), value));
    add(fmt::format("show({}, \"{}\", {});", line_, statement.function,
                    c_variable(statement.result)));
  }

  void pseudo(const Statement& statement, const BoundArguments& bound) {
    const auto at = [&](std::size_t i, const char* otherwise = "0") {
      return argument(bound, i, otherwise);
    };
    switch (bound.signature->pseudo) {
      case Pseudo::kInit: {
        const bool plain = bound.values[0] && bound.values[0]->text == "no";
        return check(statement, plain ? "cuInit(0)" : "init((int)" + at(1) + ")");
      }
      case Pseudo::kContext: {
        const std::string made =
            statement.result.empty() ? "NULL" : "&" + c_variable(statement.result);
        return check(statement, fmt::format("make_current((int){}, {})", at(0), made));
      }
      case Pseudo::kHost: {
        const std::string buffer = fmt::format("host_buffer({}, {})", at(0), at(1));
        return add(statement.result.empty() ? "(void)" + buffer + ";"
                                            : c_variable(statement.result) + " = " + buffer + ";");
      }
      case Pseudo::kBytes:
      case Pseudo::kPeek:
        return add(fmt::format("show_bytes({}, {}, {});", line_, at(0), at(1)));
      case Pseudo::kPoke:
        return add(fmt::format("*(volatile unsigned char*)(uintptr_t){} = (unsigned char){};",
                               at(0), at(1)));
      case Pseudo::kSame:
        return bind_or_show(statement, fmt::format("(uint64_t)({} == {})", at(0), at(1)));
      case Pseudo::kDifference:
        return bind_or_show(statement, fmt::format("{} - {}", at(0), at(1)));
      case Pseudo::kAligned:
        return bind_or_show(statement, fmt::format("(uint64_t)({} % {} == 0)", at(0), at(1)));
      case Pseudo::kOpen:
        return bind_or_show(statement,
                            fmt::format("(uint64_t)(int64_t)open({}, O_RDWR | O_CLOEXEC)",
                                        c_string(bound.values[0]->text)));
      case Pseudo::kMemfd:
        return bind_or_show(statement, fmt::format("memory_file({})", at(0)));
      case Pseudo::kDescriptor:
        return bind_or_show(statement,
                            fmt::format("(uint64_t)(fcntl((int){}, F_GETFD) >= 0)", at(0)));
      case Pseudo::kClose:
        return bind_or_show(statement, fmt::format("(uint64_t)(int64_t)close((int){})", at(0)));
      case Pseudo::kKernel: {
        NoNames no_names;
        Resolver resolver(no_names);
        const char* kernel =
            kernel_name(resolver.number(*bound.values[0], words_of(Pseudo::kKernel, 0)));
        if (!kernel) return fail("no kernel of this name");
        add("uint64_t function = 0;");
        add(fmt::format("const CUresult result = load_kernel(\"{}\", &function);", kernel));
        if (!statement.result.empty()) add(c_variable(statement.result) + " = function;");
        return check(statement, "result");
      }
      case Pseudo::kExit:
        return add("exit(different);");
      case Pseudo::kReceive:
      case Pseudo::kNone:
        break;
    }
    fail(statement.function + " cannot be written as C");
  }

  std::string body_;
  std::string errors_;
  std::set<std::string> names_;
  int line_ = 0;
  std::size_t descriptors_ = 0;  // in the access list of the current call
  std::string bound_value_;      // the value for a name that the current call binds
};

}  // namespace

CSource write_c(const Program& program, const std::string& origin) {
  Writer writer;
  for (const Statement& statement : program.statements) writer.write(statement);
  return writer.finish(origin);
}

}  // namespace cuvmm::program
