// SPDX-License-Identifier: Apache-2.0
#include "program/session.h"

#include <algorithm>
#include <cstring>

#include "api/newer/pools.h"
#include "api/print.h"

namespace cuvmm::program {

Session::Session(const Driver& driver) : driver_(driver) {}
Session::~Session() = default;

Outcome Session::execute(const Statement& statement) {
  if (statement.thread == 0) return run(statement);
  auto& worker = workers_[statement.thread];
  if (!worker) worker = std::make_unique<Worker>();
  Outcome outcome;
  worker->run([&] { outcome = run(statement); });
  return outcome;
}

const Binding* Session::binding(std::string_view name) const {
  const auto found = bindings_.find(name);
  return found == bindings_.end() ? nullptr : &found->second;
}

void Session::bind(const std::string& name, Binding binding) { bindings_[name] = binding; }

void* Session::buffer(std::size_t size, unsigned char fill) {
  // A program text may not use up the machine's memory.
  constexpr std::size_t kMost = std::size_t{1} << 32;
  if (size > kMost) return nullptr;
  std::vector<unsigned char>& made = buffers_.emplace_back();
  made.reserve(std::max<std::size_t>(size, 1));  // an empty buffer needs an address as well
  made.assign(size, fill);
  return made.data();
}

std::optional<std::uint64_t> Session::lookup(std::string_view name) {
  const Binding* found = binding(name);
  if (!found || found->kind == Binding::Kind::kNone) return std::nullopt;
  return found->number;
}

std::span<const unsigned char> Session::bytes(std::string_view name) const {
  const Binding* found = binding(name);
  if (!found || found->kind != Binding::Kind::kBuffer) return {};
  return {reinterpret_cast<const unsigned char*>(found->number), found->size};
}

std::string Session::missing(std::string_view name) const {
  return (binding(name) ? "the call that makes " : "nothing binds ") + std::string(name) +
         (binding(name) ? " failed" : "");
}

Outcome Session::run(const Statement& statement) {
  Outcome outcome;
  if (!statement.result.empty()) bind(statement.result, {});
  const FunctionSignature* function = find_function(statement.function);
  if (!function) {
    outcome.detail = "unknown function " + statement.function;
    return outcome;
  }
  std::vector<ArgumentError> mistakes;
  const BoundArguments bound = bind_arguments(*function, statement.arguments, mistakes);
  if (!mistakes.empty()) {
    outcome.detail = mistakes.front().message;
    return outcome;
  }
  return function->pseudo == Pseudo::kNone ? run_call(statement, bound)
                                           : run_pseudo(statement, bound);
}

Outcome Session::run_call(const Statement& statement, const BoundArguments& bound) {
  Outcome outcome;
  // The call holds addresses into the storage, and take_outputs() reads the outputs there. The
  // driver keeps none of these addresses: memory that queued work uses is in buffers_.
  CallStorage storage;
  Resolver resolver(*this);
  const Call call = resolver.call(bound, storage);
  if (!resolver.errors().empty()) {
    outcome.detail = resolver.errors().front().message;
    return outcome;
  }
  outcome.result = driver_(call);
  outcome.status = Outcome::Status::kDone;
  take_outputs(statement, *bound.signature, outcome.result, call, storage, outcome);
  return outcome;
}

namespace {

// Attributes whose values differ between two runs of the same program.
bool is_identity(CUpointer_attribute attribute) {
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return true;
    default:
      return false;
  }
}

bool is_comparable(EntryPoint entry) {
  return entry != EntryPoint::kMemGetInfo && entry != EntryPoint::kDriverGetVersion;
}

std::string decimal(std::uint64_t value) { return std::to_string(value); }

}  // namespace

void Session::take_outputs(const Statement& statement, const FunctionSignature& signature,
                           CUresult result, const Call& call, const CallStorage& storage,
                           Outcome& outcome) {
  const bool succeeded = result == CUDA_SUCCESS;
  bool bound = false;
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const Parameter& parameter = signature.parameters[i];
    if (!parameter.output) continue;
    const CallStorage::Out& out = storage.outs[i];
    if (!succeeded && !out.touched()) continue;
    Binding binding{Binding::Kind::kNumber, out.as<std::uint64_t>(), 0};
    std::string value;
    const auto blob = [&] {
      binding.kind = Binding::Kind::kBuffer;
      binding.size = CallStorage::kOutBytes;
      if (!succeeded || statement.result.empty()) return;
      void* copy = buffer(binding.size, 0);
      std::memcpy(copy, out.bytes.data(), binding.size);
      binding.number = reinterpret_cast<std::uintptr_t>(copy);
    };
    switch (parameter.kind) {
      case ParameterKind::kOutSize:
      case ParameterKind::kOutFlags:
        value = decimal(binding.number);
        break;
      case ParameterKind::kOutInt:
        binding.number = static_cast<std::uint64_t>(std::int64_t{out.as<int>()});
        value = std::to_string(out.as<int>());
        break;
      case ParameterKind::kOutProp:
        value = prop_text(out.as<CUmemAllocationProp>());
        break;
      case ParameterKind::kOpaque:
        if (const auto* query = call.as<calls::PointerGetAttribute>(); query && succeeded) {
          const bool identity = is_identity(query->attribute);
          value = identity ? (binding.number ? "nonzero" : "0") : decimal(binding.number);
        }
        break;
      case ParameterKind::kOutPoolValue:
        if (const auto* query = call.as<calls::MemPoolGetAttribute>(); query && succeeded) {
          const bool is_int = pool_attribute_bytes(query->attr) == sizeof(int);
          value = is_int ? std::to_string(out.as<int>()) : decimal(binding.number);
          if (is_int) binding.number = static_cast<std::uint64_t>(std::int64_t{out.as<int>()});
        }
        break;
      case ParameterKind::kOutBlob:
        blob();
        break;
      case ParameterKind::kOutShareable: {
        const auto* shared = call.as<calls::MemExportToShareableHandle>();
        const auto* pool = call.as<calls::MemPoolExportToShareableHandle>();
        if ((shared && shared->handleType == CU_MEM_HANDLE_TYPE_FABRIC) ||
            (pool && pool->handleType == CU_MEM_HANDLE_TYPE_FABRIC)) {
          blob();
        } else {
          binding.kind = Binding::Kind::kDescriptor;
          binding.number = static_cast<std::uint64_t>(std::int64_t{out.as<int>()});
        }
        break;
      }
      default:
        break;
    }
    if (outcome.value.empty() && is_comparable(signature.entry)) outcome.value = value;
    // An outcome shows that a failed call wrote an address or a handle, but not the value.
    const bool zeroed = parameter.kind == ParameterKind::kOpaque ||
                        parameter.kind == ParameterKind::kHostOut ||
                        parameter.kind == ParameterKind::kOutPoolValue;
    if (!succeeded && value.empty() && !zeroed) {
      outcome.value = "written";
    }
    if (succeeded && !bound && !statement.result.empty()) {
      bind(statement.result, binding);
      bound = true;
    }
  }
}

std::vector<Outcome> run_here(const Driver& driver, const Program& program) {
  Session session(driver);
  std::vector<Outcome> outcomes;
  for (const Statement& statement : program.statements)
    outcomes.push_back(session.execute(statement));
  return outcomes;
}

}  // namespace cuvmm::program
