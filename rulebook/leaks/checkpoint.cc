// SPDX-License-Identifier: Apache-2.0
#include "rulebook/leaks/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "rulebook/check/check_support.h"
#include "rulebook/memory/check_ended.h"

namespace cuvmm {
using namespace detail;

namespace {

struct StepInfo {
  ProcessState from, to;
  const char* what;  ///< what happens to a process in `from`
};
constexpr StepInfo kSteps[] = {
    {ProcessState::kRunning, ProcessState::kLocked, "locked"},
    {ProcessState::kLocked, ProcessState::kCheckpointed, "checkpointed"},
    {ProcessState::kCheckpointed, ProcessState::kLocked, "restored"},
    {ProcessState::kLocked, ProcessState::kRunning, "unlocked"},
};
const StepInfo& info_of(CheckpointStep step) { return kSteps[static_cast<std::size_t>(step)]; }

struct BlockingInfo {
  const char* words;
  const char* effect;
};
constexpr BlockingInfo kBlocking[] = {
    {"multicast object",
     "the checkpoint hangs, also if no memory is bound (nccl 2340), or calls fail after the "
     "restore "
     "(nccl 2117)"},
    {"opened legacy IPC memory",
     "drivers before 610 do not support it (cuda-checkpoint 56); the processes must be stopped "
     "together (cuda-checkpoint 30)"},
    {"exported memory",
     "other processes may hold it: they must be stopped together, and a restore "
     "does not bring their imports back (cuda-checkpoint 30 and 45)"},
    {"imported memory",
     "it belongs to another process: drivers before 610 do not support it (cuda-checkpoint 56)"},
    {"memory of a NUMA node of the host",
     "ranks that shared it did not come back from the restore (nccl 2349 and 2350)"},
    {"external memory", "it belongs to another API, which a restore of CUDA does not bring back"},
    {"managed memory",
     "the checkpoint fails and may leave the process in the state FAILED "
     "(cuda-checkpoint's list of limitations for drivers up to 570)"},
};
static_assert(std::size(kBlocking) == static_cast<std::size_t>(Blocking::kCount));
const BlockingInfo& info_of(Blocking kind) { return kBlocking[static_cast<std::size_t>(kind)]; }

}  // namespace

ProcessState wanted_state(CheckpointStep step) { return info_of(step).from; }
ProcessState next_state(CheckpointStep step) { return info_of(step).to; }

const char* words(ProcessState state) {
  constexpr const char* kWords[] = {"RUNNING", "LOCKED", "CHECKPOINTED", "FAILED"};
  return kWords[static_cast<std::size_t>(state)];
}

const char* words(Blocking kind) { return info_of(kind).words; }
const char* effect(Blocking kind) { return info_of(kind).effect; }

Violations check_checkpoint_order(CheckpointStep step, int pid, std::optional<ProcessState> known) {
  if (!known || *known == wanted_state(step)) return {};
  Collector out;
  out.add(Rule::kCheckpointState,
          "pid: process " + std::to_string(pid) + " is " + words(*known) + ", and only a process " +
              "that is " + words(wanted_state(step)) + " can be " + info_of(step).what,
          false);
  return out.take();
}

Violations check_checkpoint_reserved(const void* args, std::size_t used, std::size_t size) {
  if (!args) return {};
  const auto* bytes = static_cast<const unsigned char*>(args);
  const auto* wrong =
      std::find_if(bytes + used, bytes + size, [](unsigned char b) { return b != 0; });
  if (wrong == bytes + size) return {};
  Collector out;
  out.add(Rule::kCheckpointReserved,
          "args: byte " + std::to_string(wrong - bytes) + " is reserved and not 0");
  return out.take();
}

Violations check_checkpoint_pairs(const void* pairs, unsigned count) {
  Collector out;
  if (count != 0 && !pairs) return check_announced("args.gpuPairs", "gpuPairsCount", count);
  constexpr std::size_t kUuid = 16;
  std::set<std::string> seen;
  for (unsigned i = 0; i < count; ++i) {
    const char* const pair = static_cast<const char*>(pairs) + 2 * kUuid * i;
    if (seen.emplace(pair, kUuid).second) continue;
    out.add(Rule::kCheckpointPairs, "args.gpuPairs[" + std::to_string(i) +
                                        "] names an old device that an earlier pair names, too");
    break;
  }
  return out.take();
}

Violations check_checkpoint_out(const char* parameter) {
  Collector out;
  out.add(Rule::kCheckpointOut, std::string(parameter) + " is NULL");
  return out.take();
}

std::optional<Blocking> blocking(const Allocation& allocation) {
  if (allocation.multicast) return Blocking::kMulticast;
  if (allocation.imported) return Blocking::kImported;
  if (!allocation.prop_known) return std::nullopt;
  const auto type = static_cast<int>(allocation.prop.location.type);
  constexpr int kNode = 3, kCurrentNode = 4;  // CU_MEM_LOCATION_TYPE_HOST_NUMA(_CURRENT)
  if (type == kNode || type == kCurrentNode) return Blocking::kNumaMemory;
  return std::nullopt;
}

std::vector<Blocker> checkpoint_blockers(const Model& model) {
  std::vector<Blocker> out;
  for (const auto& [handle, a] : model.allocations()) {
    if (a.references == 0 && a.mappings == 0) continue;
    if (const auto kind = blocking(a)) out.push_back({*kind, ref(a)});
  }
  for (const auto& [fd, e] : model.exports()) out.push_back({Blocking::kExported, ref(e)});
  for (const auto& [pointer, open] : model.ipc().opens())
    out.push_back({Blocking::kIpcOpened, ref(open)});
  for (const auto& [handle, m] : model.external().memories())
    out.push_back({Blocking::kExternal, ref(m)});
  for (const auto& [base, m] : model.memory().all()) {
    if (m.kind == PlainMemory::Kind::kManaged) out.push_back({Blocking::kManaged, ref(m)});
  }
  std::ranges::stable_sort(out, [](const Blocker& a, const Blocker& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.object.made.call < b.object.made.call;
  });
  return out;
}

Violations check_checkpoint_blockers(const std::vector<Blocker>& blockers) {
  Collector out;
  if (blockers.empty()) return out.take();
  std::string text = "the process holds ";
  std::vector<ObjectRef> first;
  for (std::size_t i = 0; i < blockers.size();) {
    const Blocking kind = blockers[i].kind;
    const auto count = static_cast<std::size_t>(
        std::ranges::count_if(blockers, [kind](const Blocker& one) { return one.kind == kind; }));
    if (i != 0) text += "; ";
    text += std::string(words(kind)) + " (" + std::to_string(count) + "): " + effect(kind);
    first.push_back(blockers[i].object);
    i += count;
  }
  Violation& v = out.add(Rule::kCheckpointBlocked, text);
  for (const ObjectRef& object : first) v.objects.push_back(object);
  return out.take();
}

}  // namespace cuvmm
