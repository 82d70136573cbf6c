// SPDX-License-Identifier: Apache-2.0
// Which calls make the host wait, for which work, and how certain that is: one table for the shim,
// the emulator and the documentation. docs/work-in-flight.md, "What counts as waiting", lists the
// checks that use the table.
//
// A line is certain only where today's documentation or a recorded GPU says so. After a wait that
// is not certain, a checker reports less, never more, because nobody knows whether the host has
// learned that earlier work is over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/calls.h"

namespace cuvmm {

/// The place of one side of a copy or fill.
enum class Place : std::uint8_t {
  kDevice,    ///< a device's memory, CUDA arrays included
  kPinned,    ///< page-locked memory of the host, registered memory included
  kPageable,  ///< other memory of the host
  kManaged,
  kUnknown,  ///< nobody can know
};

struct HostWait {
  enum class Grade : std::uint8_t {
    kNone,     ///< the host knows no more than before
    kTells,    ///< the host may learn it later without a call, from memory that the work writes
    kMayWait,  ///< the host may have waited before the call returned
    kWaits,    ///< the host waited before the call returned
  };
  enum class For : std::uint8_t {
    kNothing,
    kBefore,      ///< the work that comes before the call's own work in the order of its stream
    kItself,      ///< the work of kBefore, and the call's own work
    kStream,      ///< all work that the named stream has so far
    kEvent,       ///< all work in front of the named event's record
    kContext,     ///< all work that the named or current context has so far
    kEverything,  ///< all work of the process
  };
  Grade grade = Grade::kNone;
  For what = For::kNothing;

  bool operator==(const HostWait&) const = default;
};

/// The sources of one line.
struct HostWaitSource {
  const char* documented = "";  ///< the place in the documentation, or its statement in our words
  const char* seen = "";        ///< the behaviour of a recorded GPU (driver 580.159.04)
};

/// How a transfer is called: without a stream, or with one.
enum class TransferForm : std::uint8_t { kCopy, kCopyAsync, kFill, kFillAsync };

namespace host_waits {

constexpr unsigned at(Place place) { return 1u << static_cast<unsigned>(place); }

struct TransferLine {
  TransferForm form;
  unsigned from, to;  ///< masks of places
  HostWait wait;
  HostWaitSource source;
};

struct CallLine {
  EntryPoint call;
  HostWait wait;
  HostWaitSource source;
};

inline constexpr unsigned kDevice = at(Place::kDevice), kPinned = at(Place::kPinned),
                          kPageable = at(Place::kPageable), kHost = kPinned | kPageable,
                          kAnywhere = kDevice | kHost | at(Place::kManaged) | at(Place::kUnknown);
inline constexpr HostWait kItself{HostWait::Grade::kWaits, HostWait::For::kItself},
    kBefore{HostWait::Grade::kWaits, HostWait::For::kBefore},
    kStream{HostWait::Grade::kWaits, HostWait::For::kStream},
    kEvent{HostWait::Grade::kWaits, HostWait::For::kEvent},
    kContext{HostWait::Grade::kWaits, HostWait::For::kContext},
    kMaybeItself{HostWait::Grade::kMayWait, HostWait::For::kItself},
    kMaybeBefore{HostWait::Grade::kMayWait, HostWait::For::kBefore},
    kMaybeAll{HostWait::Grade::kMayWait, HostWait::For::kEverything},
    kTellsItself{HostWait::Grade::kTells, HostWait::For::kItself},
    kTellsBefore{HostWait::Grade::kTells, HostWait::For::kBefore}, kNothing{};

inline constexpr const char* kNotAsked = "not asked yet";
inline constexpr const char* kPage = "CUDA Driver API, API synchronization behavior";
using Form = TransferForm;

// The first line that fits counts. A transfer that fits no line may wait for its own work
// (kMaybeItself). A fill has no source, so `from` is not compared.
inline constexpr TransferLine kTransferLines[] = {
    {Form::kCopy, kHost, kHost, kItself, {kPage, "H100: it waits"}},
    {Form::kCopy, kDevice, kHost, kItself, {kPage, "H100: it waits"}},
    {Form::kCopy, kPinned, kDevice, kItself, {kPage, "H100: it waits"}},
    {Form::kCopy,
     kPageable,
     kDevice,
     kBefore,
     {"the same: the bytes are staged then", "H100: it waits"}},
    {Form::kCopy, kDevice, kDevice, kNothing, {kPage, "H100: it does not wait"}},

    {Form::kCopyAsync, kHost, kHost, kItself, {kPage, "H100: it waits"}},
    {Form::kCopyAsync,
     kDevice,
     kPageable,
     kMaybeItself,
     {"the same; until 12.1 sure", "H100: it waits, but not in cuMemcpyBatchAsync"}},
    {Form::kCopyAsync,
     kPageable,
     kDevice,
     kMaybeBefore,
     {"the same: if it stages", "H100: it waits for 16 MiB, not for 4 KiB"}},
    {Form::kCopyAsync,
     kDevice,
     kPinned,
     kTellsItself,
     {"the same: no wait", "H100: it does not wait"}},
    {Form::kCopyAsync, kPinned, kDevice, kNothing, {kPage, "H100: it does not wait"}},
    {Form::kCopyAsync, kDevice, kDevice, kNothing, {kPage, "H100: it does not wait"}},

    {Form::kFill, kAnywhere, kPinned, kItself, {kPage, "H100: it waits"}},
    {Form::kFill, kAnywhere, kDevice, kNothing, {kPage, "H100: it does not wait"}},
    {Form::kFillAsync,
     kAnywhere,
     kPinned,
     kTellsItself,
     {"the same: no wait", "H100: it does not wait"}},
    {Form::kFillAsync, kAnywhere, kDevice, kNothing, {kPage, "H100: it does not wait"}},
};

// Calls that are neither copies nor fills. A call that is not listed does not wait.
inline constexpr CallLine kCallLines[] = {
    {EntryPoint::kStreamSynchronize, kStream, {"cuda.h", "H200: it waits"}},
    {EntryPoint::kStreamQuery, kStream, {"cuda.h, of CUDA_SUCCESS", kNotAsked}},
    {EntryPoint::kEventSynchronize, kEvent, {"cuda.h", "H100: it waits"}},
    {EntryPoint::kEventQuery, kEvent, {"cuda.h, of CUDA_SUCCESS", kNotAsked}},
    {EntryPoint::kEventElapsedTime, kEvent, {"cuda.h, of CUDA_SUCCESS: both events", kNotAsked}},
    {EntryPoint::kCtxSynchronize, kContext, {"cuda.h", "H200: it waits"}},
    {EntryPoint::kCtxSynchronize_v2, kContext, {"cuda.h", kNotAsked}},

    {EntryPoint::kMemFree, kMaybeAll, {"cuda.h, but of a pool's memory", "H100, H200: it waits"}},
    {EntryPoint::kMemFreeHost, kMaybeAll, {"nothing", "H100: it waits"}},
    {EntryPoint::kMemHostUnregister, kMaybeAll, {"nothing", "H100: it waits"}},
    {EntryPoint::kIpcCloseMemHandle, kMaybeAll, {"nothing", "H100, H200: it waits"}},
    {EntryPoint::kPointerSetAttribute, kMaybeAll, {"cuda.h, of SYNC_MEMOPS", kNotAsked}},
    {EntryPoint::kArrayDestroy, kMaybeAll, {"nothing", "H100: it waits"}},
    {EntryPoint::kMipmappedArrayDestroy, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kModuleLoad, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kModuleLoadData, kMaybeAll, {"nothing", "H100: it waits"}},
    {EntryPoint::kModuleLoadDataEx, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kLibraryLoadData, kMaybeAll, {"nothing", "H100: it does not wait"}},
    {EntryPoint::kLibraryLoadFromFile, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kModuleUnload, kMaybeAll, {"nothing", "H100: it waits"}},
    {EntryPoint::kLibraryUnload, kMaybeAll, {"nothing", "H100: it does not wait"}},

    // These calls end a context, and may end all work that is queued there.
    {EntryPoint::kCtxDestroy, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kCtxDetach, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kGreenCtxDestroy, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kDevicePrimaryCtxRelease, kMaybeAll, {"nothing", kNotAsked}},
    {EntryPoint::kDevicePrimaryCtxReset, kMaybeAll, {"nothing", kNotAsked}},

    // The function, callback or word that follows the work may tell the host that the work is over.
    {EntryPoint::kLaunchHostFunc, kTellsItself, {"cuda.h", kNotAsked}},
    {EntryPoint::kLaunchHostFunc_v2, kTellsItself, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamAddCallback, kTellsItself, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamWriteValue32, kTellsBefore, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamWriteValue64, kTellsBefore, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamBatchMemOp, kTellsBefore, {"cuda.h", kNotAsked}},
    {EntryPoint::kSignalExternalSemaphoresAsync, kTellsItself, {"cuda.h", kNotAsked}},

    // Calls that do not wait.
    {EntryPoint::kStreamDestroy,
     kNothing,
     {"cuda.h: it returns at once", "H100: it does not wait"}},
    {EntryPoint::kEventDestroy, kNothing, {"cuda.h: it returns at once", "H100: it does not wait"}},
    {EntryPoint::kGraphExecDestroy,
     kNothing,
     {"cuda.h: it is freed when it is done", "H100: it does not wait"}},
    {EntryPoint::kMemFreeAsync, kNothing, {"cuda.h: it is queued", "H100: it does not wait"}},
    {EntryPoint::kMemPoolDestroy,
     kNothing,
     {"cuda.h: it returns at once", "H100: it does not wait"}},
    {EntryPoint::kMemPoolTrimTo,
     kNothing,
     {"cuda.h: what may be used is kept", "H100: it does not wait"}},
    {EntryPoint::kMemUnmap, kNothing, {"cuda.h", "H100, H200: it does not wait"}},
};

}  // namespace host_waits

/// The host's knowledge after a copy or fill has returned CUDA_SUCCESS. `from` is ignored for
/// fills.
constexpr HostWait host_wait(TransferForm form, Place from, Place to) {
  for (const host_waits::TransferLine& line : host_waits::kTransferLines) {
    const bool fits = line.form == form && (line.from & host_waits::at(from)) != 0 &&
                      (line.to & host_waits::at(to)) != 0;
    if (fits) return line.wait;
  }
  return host_waits::kMaybeItself;
}

/// The same for memory, or for a context, with SYNC_MEMOPS. cuda.h says of cuPointerSetAttribute
/// and CU_CTX_SYNC_MEMOPS that copies and fills without a stream then always wait.
constexpr HostWait host_wait_with_sync_memops(TransferForm form, Place from, Place to) {
  const bool streamless = form == TransferForm::kCopy || form == TransferForm::kFill;
  if (streamless) return host_waits::kItself;
  return host_wait(form, from, to);
}

/// The host's knowledge after any other call has returned CUDA_SUCCESS.
constexpr HostWait host_wait(EntryPoint call) {
  for (const host_waits::CallLine& line : host_waits::kCallLines) {
    if (line.call == call) return line.wait;
  }
  return {};
}

/// Whether the call queues a wait for a word in memory, or for a semaphore. Any queued work, also
/// of other processes, may be the work that ends this wait. For a batch: whether it may contain
/// such a wait.
constexpr bool waits_for_others(EntryPoint call) {
  return call == EntryPoint::kStreamWaitValue32 || call == EntryPoint::kStreamWaitValue64 ||
         call == EntryPoint::kStreamBatchMemOp || call == EntryPoint::kWaitExternalSemaphoresAsync;
}

// The same two questions for the nodes of a graph.

/// Whether the host may learn from this node of a graph that the nodes before it are over while
/// later nodes still run: from a host function, an event, a word in memory, or a semaphore.
constexpr bool tells_the_host(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_HOST || type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ||
         type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
}
constexpr bool waits_for_others(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_WAIT_EVENT || type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP ||
         type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
}

}  // namespace cuvmm
