// SPDX-License-Identifier: Apache-2.0
// The result of a check: the broken rule, a sentence with the values, and the objects involved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rulebook/catalogue/rule.h"
#include "rulebook/containers/rare_list.h"

namespace cuvmm {

/// The call and the thread that did something. The model only stores an Origin. The shim fills it
/// with the number of its call and an interned stack; the emulator leaves it empty.
struct Origin {
  std::uint64_t call = 0;    ///< 1-based number of the call in this process, 0 unknown
  std::uint32_t stack = 0;   ///< id of an interned stack, 0 none
  std::uint32_t thread = 0;  ///< the kernel's number of the thread that made the call, 0 unknown
};
static_assert(sizeof(Origin) == 16);  // each object has some, and tombstones fill cache lines

/// Work that was queued to a stream, as a report names it. Its owner never frees it.
struct Work {
  const char* what = "";     ///< "kernel", "graph", "copy", "fill", "batch"
  std::string function;      ///< for a kernel, "" unknown
  std::uint64_t stream = 0;  ///< the handle of its stream; 0, 1 and 2 are default streams
};

/// An object as a report names it.
struct ObjectRef {
  enum class Kind : std::uint8_t {
    kReservation,
    kAllocation,
    kMapping,
    kExport,
    kBinding,
    kIpcMemory,
    kPool,
    kPoolMemory,
    kExternalMemory,
    kExternalBuffer,
    kExternalSemaphore,
    kMemory,  ///< plain memory: of cuMemAlloc and its kin, or registered
    kStream,
    kArray,  ///< a CUDA array, a mipmapped one, or a level of one
    kEndpointId,
    kEndpoint,
    kEndpointBinding,
    kWork,           ///< a launch, copy or fill that was queued; `work` says which
    kRetained,       ///< an allocation; `made` is the call that retained its handle
    kCapture,        ///< a stream; `made` is the call since which it captures
    kCapturedEvent,  ///< `made` is the call that recorded it in a capture
    // Objects that end without being memory; the model does not follow them
    // (check_ended_objects()).
    kEvent,
    kContext,
    kGreenContext,
    kModule,
    kLibrary,
    kGraph,
    kExecutableGraph,
    kFunction,  ///< of a module or a library
    kNode,      ///< of a graph
    kTexture,
    kSurface,
    kUserObject,
    // Nodes of a captured graph: `value` and `size` are the memory, `made` is the captured call.
    kUsingNode,
    kAllocatingNode,
    kFreeingNode,
    kCount
  };
  Kind kind;
  std::uint64_t value = 0;  ///< address, handle, descriptor number or offset
  std::uint64_t size = 0;   ///< bytes, 0 unknown
  Origin made;
  Origin ended;                ///< ended.call != 0: the object has ended, and this call ended it
  const Work* work = nullptr;  ///< for kWork
};
/// "reservation", "allocation", "mapping", "export", "multicast binding", "ipc-memory", "pool",
/// "pool-memory", "external memory", ...
const char* name(ObjectRef::Kind kind);
/// The action of the call in `made`: "made", "queued", "retained", "put into capture", "recorded"
/// or "captured".
const char* how(const ObjectRef& object);

struct Violation {
  Rule rule;
  /// False: the call is wrong only if the model sees everything, or it breaks a limit that drivers
  /// were seen to have but that is not documented. Then the shim reports it if the driver refuses
  /// the call, and the emulator does as its profile says.
  bool certain = true;
  std::string message;  ///< one sentence: the values, and the values that the rule demands
  std::vector<ObjectRef> objects;
  std::uint64_t count = 1;  ///< how many objects it stands for; `objects` has the first of them
  /// The repair for this state of the program; empty: the rule's own (RuleInfo::fix) fits.
  std::string fix = {};
};
/// The repair that a report shows.
inline std::string fix_of(const Violation& violation) {
  return violation.fix.empty() ? info(violation.rule).fix : violation.fix;
}

/// In the order of the checks. Allocates nothing while empty.
using Violations = RareList<Violation>;

}  // namespace cuvmm
