// SPDX-License-Identifier: Apache-2.0
// What a check finds: the rule, a sentence with the values, and the objects involved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rulebook/catalogue/rule.h"
#include "rulebook/containers/rare_list.h"

namespace cuvmm {

/// Who did something. The model only stores it; its owner fills it. The shim numbers its calls and
/// interns their stacks; the emulator leaves it empty.
struct Origin {
  std::uint64_t call = 0;    ///< 1-based number of the call in this process, 0 unknown
  std::uint32_t stack = 0;   ///< id of an interned stack, 0 none
  std::uint32_t thread = 0;  ///< the kernel's number of the thread that made it, 0 unknown
};
static_assert(sizeof(Origin) == 16);  // each object has some, and tombstones fill cache lines

/// Work that was queued to a stream, as a report names it. Its owner keeps it for ever.
struct Work {
  const char* what = "";     ///< "kernel", "graph", "copy", "fill", "batch"
  std::string function;      ///< of a kernel, "" unknown
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
    kMemory,  ///< plain: of cuMemAlloc and its kin, or registered
    kStream,
    kArray,  ///< a CUDA array, a mipmapped one, or a level of one
    kEndpointId,
    kEndpoint,
    kEndpointBinding,
    kWork,      ///< a launch, copy or fill that was queued; `work` says which
    kRetained,  ///< an allocation, by the call that retained its handle: `made` is that call
    kCapture,   ///< a stream, by the call since which it captures: `made` is that call
    // What ends without being memory; the model does not know when (check_ended_objects()).
    kEvent,
    kContext,
    kGreenContext,
    kModule,
    kLibrary,
    kGraph,
    kExecutableGraph,
    kFunction,  ///< of a module or a library
    kCount
  };
  Kind kind;
  std::uint64_t value = 0;  ///< address, handle, descriptor number or offset
  std::uint64_t size = 0;   ///< bytes, 0 unknown
  Origin made;
  Origin ended;                ///< ended.call != 0: the object is gone, and this call ended it
  const Work* work = nullptr;  ///< of kWork
};
/// "reservation", "allocation", "mapping", "export", "multicast binding", "ipc-memory", "pool",
/// "pool-memory", "external memory", ...
const char* name(ObjectRef::Kind kind);
/// What the call that `made` names did: "made", "queued", "retained" or "put into capture".
const char* how(const ObjectRef& object);

struct Violation {
  Rule rule;
  /// False: wrong only if the model's view is complete, or a limit seen on drivers but not
  /// documented. The shim reports it when the driver refuses the call; the emulator obeys its
  /// profile.
  bool certain = true;
  std::string message;  ///< one sentence: the values, and what they should be
  std::vector<ObjectRef> objects;
  std::uint64_t count = 1;  ///< how many of a kind it stands for; `objects` has the first of them
};

/// In the order in which the checks were made. No allocation while empty.
using Violations = RareList<Violation>;

}  // namespace cuvmm
