// SPDX-License-Identifier: Apache-2.0
// cuImportExternalSemaphore, signals and waits.
#include "rulebook/check/check_support.h"
#include "rulebook/sharing/check_external.h"

namespace cuvmm {
using namespace detail;

namespace {

bool is_timeline(unsigned type) { return type == external_type::kTimelineFd; }

const ExternalSemaphore* check_semaphore(Collector& out, const Model& model,
                                         CUexternalSemaphore object, const ObjectRules& rules) {
  return check_external_object(out, model, model.external().semaphores(), object_number(object),
                               ObjectRef::Kind::kExternalSemaphore, "external semaphore", rules);
}

/// The rules of a call that takes an array of semaphores.
struct ArrayRules {
  Rule array, params, flags;
  ObjectRules object;
};

/// The common part of signals and waits; calls each(semaphore, parameters) for the known
/// semaphores.
template <class CallStruct, class Each>
void check_array(Collector& out, const Model& model, const CallStruct& call,
                 const ArrayRules& rules, Each each) {
  if (call.numExtSems == 0) return;
  if (!call.extSemArray) out.add(rules.array, "extSemArray is NULL");
  if (!call.paramsArray) out.add(rules.params, "paramsArray is NULL");
  if (!call.extSemArray || !call.paramsArray) return;
  for (unsigned i = 0; i < call.numExtSems; ++i) {
    const ExternalSemaphore* s = check_semaphore(out, model, call.extSemArray[i], rules.object);
    if (!s) continue;
    const auto& params = call.paramsArray[i];
    if (params.flags != 0 && s->type != external_type::kNvSciSync) {
      out.add(rules.flags,
              "flags of semaphore " + std::to_string(i) + " is " + hex_text(params.flags))
          .objects.push_back(ref(*s));
    }
    each(*s, params);
  }
}

}  // namespace

Violations check(const Model& model, const calls::ImportExternalSemaphore& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.extSem_out) out.add(Rule::kSemImportOutNonnull, "extSem_out is NULL");
  if (!call.semHandleDesc) {
    out.add(Rule::kSemImportDescNonnull, "semHandleDesc is NULL");
    return out.take();
  }
  const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC& desc = *call.semHandleDesc;
  const auto type = static_cast<unsigned>(desc.type);
  const bool by_fd = type == external_type::kOpaqueFd || is_timeline(type);
  if (type < external_type::kOpaqueFd || type > external_type::kLastSemaphore) {
    out.add(Rule::kSemImportTypeKnown, "type is " + std::to_string(type));
  } else if (!by_fd) {
    out.add(Rule::kSemImportTypeSupported,
            "type is " + std::to_string(type) + ", which this system lacks",
            type != external_type::kNvSciSync);
  }
  if (desc.flags != 0) out.add(Rule::kSemImportFlagsZero, "flags is " + hex_text(desc.flags));
  if (!by_fd) return out.take();
  const int fd = desc.handle.fd;
  if (check_given(out, model, fd, facts.sharing.descriptor_valid, Rule::kSemImportFdOwned)) {
    return out.take();
  }
  const std::string which = "descriptor " + std::to_string(fd);
  if (facts.sharing.descriptor_kind == Facts::Answer::kNo) {
    out.add(Rule::kSemImportFdKind, which + " is a descriptor of memory, not of a semaphore");
  } else if (facts.sharing.descriptor_valid != Facts::Answer::kYes) {
    const bool certain = fd < 0 || facts.sharing.descriptor_valid == Facts::Answer::kNo;
    if (is_timeline(type)) {
      out.add(Rule::kSemImportTimelineFdValid, which + " is not a timeline semaphore", certain);
    } else {
      out.add(Rule::kSemImportFdValid, which + " is not a binary semaphore", certain);
    }
  }
  return out.take();
}

Violations check(const Model& model, const calls::SignalExternalSemaphoresAsync& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_array(out, model, call,
              {Rule::kSemSignalArrayNonnull,
               Rule::kSemSignalParamsNonnull,
               Rule::kSemSignalFlags,
               {Rule::kSemSignalNonnull, Rule::kSemSignalValid, Rule::kSemSignalAlive}},
              [&](const ExternalSemaphore& s, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS& params) {
                const std::uint64_t value = params.params.fence.value;
                if (!is_timeline(s.type) || !s.any_signal || value > s.signalled) return;
                out.add(Rule::kSemSignalIncreases, "the timeline is signalled with " +
                                                       std::to_string(value) + " after " +
                                                       std::to_string(s.signalled))
                    .objects.push_back(ref(s));
              });
  return out.take();
}

Violations check(const Model& model, const calls::WaitExternalSemaphoresAsync& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_array(out, model, call,
              {Rule::kSemWaitArrayNonnull,
               Rule::kSemWaitParamsNonnull,
               Rule::kSemWaitFlags,
               {Rule::kSemWaitNonnull, Rule::kSemWaitValid, Rule::kSemWaitAlive}},
              [](const ExternalSemaphore&, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS&) {});
  return out.take();
}

Violations check(const Model& model, const calls::DestroyExternalSemaphore& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_semaphore(out, model, call.extSem,
                  {Rule::kSemDestroyNonnull, Rule::kSemDestroyValid, Rule::kSemDestroyOnce});
  return out.take();
}

}  // namespace cuvmm
