// SPDX-License-Identifier: Apache-2.0
#include "program/signature.h"

#include <algorithm>

#include "api/print.h"
#include "program/kernel/kernels.h"

namespace cuvmm::program {

namespace {

// Parameters that the call writes although their kinds do not say so: untyped or host storage.
bool writes(ParameterKind kind, EntryPoint entry, std::string_view name) {
  return is_output(kind) || (entry == EntryPoint::kPointerGetAttribute && name == "data") ||
         (entry == EntryPoint::kMemAllocHost && name == "pp") ||
         (entry == EntryPoint::kMemHostAlloc && name == "pp") ||
         ((entry == EntryPoint::kGetErrorName || entry == EntryPoint::kGetErrorString) &&
          name == "str");
}

std::vector<FunctionSignature> make_functions() {
  std::vector<FunctionSignature> all;
#define CUVMM_PARAMETER(kind, type, name) {ParameterKind::k##kind, #name},
#define CUVMM_ENTRY(Name, area, ...)  \
  all.push_back({"cu" #Name,          \
                 EntryPoint::k##Name, \
                 Pseudo::kNone,       \
                 {CUVMM_FOR_EACH(CUVMM_PARAMETER, __VA_ARGS__)}});
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base __VA_OPT__(, ) __VA_ARGS__)
#include "api/entry_points.def"
#undef CUVMM_PARAMETER
  for (FunctionSignature& function : all) {
    for (Parameter& parameter : function.parameters) {
      parameter.output = writes(parameter.kind, function.entry, parameter.name);
      parameter.optional = !parameter.output && may_be_omitted(parameter.kind, function.entry);
    }
    // All parameters of a reservation except the size may be omitted; the hint is an address.
    if (function.entry == EntryPoint::kMemAddressReserve) {
      for (Parameter& parameter : function.parameters) {
        if (parameter.name == "addr") parameter.optional = true;
      }
    }
  }
  // A kernel may need no arguments, and takes them in one of two forms.
  for (FunctionSignature& function : all) {
    for (Parameter& parameter : function.parameters) {
      parameter.optional |= parameter.name == "kernelParams" || parameter.name == "extra";
    }
  }
  using K = ParameterKind;
  const auto pseudo = [&](std::string_view name, Pseudo which, std::vector<Parameter> parameters) {
    all.push_back({name, EntryPoint::kCount, which, std::move(parameters)});
  };
  pseudo("init", Pseudo::kInit,
         {{K::kValue, "context", false, true}, {K::kDevice, "device", false, true}});
  pseudo("context", Pseudo::kContext, {{K::kDevice, "device"}});
  pseudo("host", Pseudo::kHost, {{K::kSize, "size"}, {K::kFill, "fill", false, true}});
  pseudo("bytes", Pseudo::kBytes, {{K::kHostIn, "buffer"}, {K::kSize, "size"}});
  pseudo("peek", Pseudo::kPeek, {{K::kAddress, "ptr"}, {K::kSize, "size"}});
  pseudo("poke", Pseudo::kPoke, {{K::kAddress, "ptr"}, {K::kFill, "value"}});
  pseudo("same", Pseudo::kSame, {{K::kValue, "a"}, {K::kValue, "b"}});
  pseudo("difference", Pseudo::kDifference, {{K::kValue, "a"}, {K::kValue, "b"}});
  pseudo("aligned", Pseudo::kAligned, {{K::kValue, "a"}, {K::kAlignment, "n"}});
  pseudo("open", Pseudo::kOpen, {{K::kOpaque, "path"}});
  pseudo("memfd", Pseudo::kMemfd, {{K::kSize, "size"}});
  pseudo("descriptor", Pseudo::kDescriptor, {{K::kValue, "fd"}});
  pseudo("close", Pseudo::kClose, {{K::kValue, "fd"}});
  pseudo("receive", Pseudo::kReceive, {{K::kValue, "name"}});
  pseudo("kernel", Pseudo::kKernel, {{K::kValue, "name"}});
  pseudo("exit", Pseudo::kExit, {});
  return all;
}

bool is_property_key(std::string_view key) {
  constexpr std::string_view kKeys[] = {"location",    "domain",    "type",      "handle_types",
                                        "compression", "rdma",      "usage",     "reserved0",
                                        "reserved1",   "reserved2", "reserved3", "win32_metadata"};
  return find_word(location_type_words(), key).has_value() ||
         std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

// `host` and `host_numa_current` stand alone as properties.
bool is_bare_property(const Argument& argument) {
  return argument.key.empty() && argument.value.kind == Value::Kind::kName &&
         (argument.value.text == "host" || argument.value.text == "host_numa_current");
}

std::string quoted_parameters(const FunctionSignature& signature) {
  std::string text;
  for (const Parameter& parameter : signature.parameters) {
    if (!text.empty()) text += ", ";
    text += parameter.name;
  }
  return text.empty() ? "no parameters" : text;
}

}  // namespace

std::span<const Word> words_of(Pseudo pseudo, std::size_t argument) {
  static constexpr Word kYesNo[] = {{"no", 0, ""}, {"yes", 1, ""}};
  if (argument != 0) return {};
  if (pseudo == Pseudo::kInit) return kYesNo;
  return pseudo == Pseudo::kKernel ? kernel_words() : std::span<const Word>();
}

std::span<const FunctionSignature> functions() {
  static const std::vector<FunctionSignature> kFunctions = make_functions();
  return kFunctions;
}

const FunctionSignature* find_function(std::string_view name) {
  for (const FunctionSignature& function : functions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

BoundArguments bind_arguments(const FunctionSignature& signature,
                              const std::vector<Argument>& arguments,
                              std::vector<ArgumentError>& errors) {
  const auto& parameters = signature.parameters;
  BoundArguments bound;
  bound.signature = &signature;
  bound.values.assign(parameters.size(), nullptr);
  std::size_t prop = parameters.size();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == ParameterKind::kInProp) prop = i;
  }
  const bool has_prop = prop < parameters.size();
  std::size_t next = 0;
  for (const Argument& argument : arguments) {
    std::size_t at = parameters.size();
    if (has_prop && (is_bare_property(argument) || is_property_key(argument.key))) {
      bound.properties.push_back(&argument);
      continue;
    }
    if (argument.key.empty()) {
      while (next < parameters.size() && (parameters[next].output || parameters[next].optional ||
                                          next == prop || bound.values[next])) {
        ++next;
      }
      at = next;
      if (at == parameters.size()) {
        errors.push_back({argument.value.column, "expected no further positional argument of " +
                                                     std::string(signature.name) + " (it has " +
                                                     quoted_parameters(signature) + ")"});
        continue;
      }
    } else {
      for (at = 0; at < parameters.size() && parameters[at].name != argument.key; ++at) {
      }
      if (at == parameters.size()) {
        errors.push_back({argument.value.column,
                          "expected a parameter of " + std::string(signature.name) + " (" +
                              quoted_parameters(signature) + "), found '" + argument.key + "'"});
        continue;
      }
    }
    const Parameter& parameter = parameters[at];
    if (bound.values[at]) {
      errors.push_back(
          {argument.value.column, "expected " + std::string(parameter.name) + " only once"});
    } else if ((parameter.output || at == prop) && argument.value.kind != Value::Kind::kNull) {
      errors.push_back(
          {argument.value.column,
           "expected " + std::string(parameter.name) + " to be left out or null: " +
               (at == prop ? "its fields are keys of the call" : "the call writes it")});
    } else {
      bound.values[at] = &argument.value;
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (bound.values[i] || parameters[i].output || parameters[i].optional) continue;
    if (i == prop) {
      if (bound.properties.empty()) {
        errors.push_back({0, "expected a location in " + std::string(signature.name) +
                                 ": device=N, host, host_numa=N, domain=DEVICE:DOMAIN, "
                                 "location=TYPE:ID, or prop=null"});
      }
      continue;
    }
    errors.push_back({0, "expected an argument for " + std::string(parameters[i].name) + " of " +
                             std::string(signature.name)});
  }
  if (has_prop && bound.values[prop] && !bound.properties.empty()) {
    errors.push_back({bound.values[prop]->column, "expected either prop=null or properties"});
  }
  return bound;
}

}  // namespace cuvmm::program
