// SPDX-License-Identifier: Apache-2.0
// Which calls make the host wait, for what, and how sure that is: one table for the shim, the
// emulator and the documentation. Who judges by it: docs/work-in-flight.md, "What counts as
// waiting".
//
// A line is certain only where the documentation of today says so, or a recorded GPU. A wait that
// is not certain makes a checker silent and never makes it claim: after such a call it is unknown
// whether the host has learned that earlier work is over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/calls.h"

namespace cuvmm {

/// Where one side of a copy or fill lies.
enum class Place : std::uint8_t {
  kDevice,    ///< a device's memory, CUDA arrays included
  kPinned,    ///< page-locked memory of the host, registered memory included
  kPageable,  ///< other memory of the host
  kManaged,
  kUnknown,  ///< nobody can say
};

struct HostWait {
  enum class Grade : std::uint8_t {
    kNone,     ///< the host knows no more than before
    kTells,    ///< the host may learn it later, without a call: by memory that the work writes
    kMayWait,  ///< the host may have waited when the call returns
    kWaits,    ///< it has
  };
  enum class For : std::uint8_t {
    kNothing,
    kBefore,      ///< what comes before the call's own work in the order of its stream
    kItself,      ///< that, and the work
    kStream,      ///< all that the named stream was given
    kEvent,       ///< what the named event was recorded behind
    kContext,     ///< all that the named or current context was given
    kEverything,  ///< all work of the process
  };
  Grade grade = Grade::kNone;
  For what = For::kNothing;

  bool operator==(const HostWait&) const = default;
};

/// What one line rests on.
struct HostWaitSource {
  const char* documented = "";  ///< where, in our words
  const char* seen = "";        ///< what a recorded GPU did (driver 580.159.04)
};

/// How a transfer is called: without a stream, or with one.
enum class TransferForm : std::uint8_t { kCopy, kCopyAsync, kFill, kFillAsync };

namespace detail {

constexpr unsigned at(Place place) { return 1u << static_cast<unsigned>(place); }
inline constexpr unsigned kAnyHost = at(Place::kPinned) | at(Place::kPageable);
inline constexpr unsigned kAnyPlace =
    at(Place::kDevice) | kAnyHost | at(Place::kManaged) | at(Place::kUnknown);

struct TransferLine {
  TransferForm form;
  unsigned from, to;  ///< places
  HostWait wait;
  HostWaitSource source;
};

struct CallLine {
  EntryPoint call;
  HostWait wait;
  HostWaitSource source;
};

inline constexpr const char* kNotAsked = "not asked yet";
inline constexpr const char* kPage = "CUDA Driver API, API synchronization behavior";

using Grade = HostWait::Grade;
using For = HostWait::For;

// The first line that fits counts. What no line names is not certain (kMayWait, kItself).
inline constexpr TransferLine kTransferLines[] = {
    // Without a stream.
    {TransferForm::kCopy, kAnyHost, kAnyHost, {Grade::kWaits, For::kItself}, {kPage, kNotAsked}},
    {TransferForm::kCopy,
     at(Place::kDevice),
     kAnyHost,
     {Grade::kWaits, For::kItself},
     {kPage, kNotAsked}},
    {TransferForm::kCopy,
     at(Place::kPageable),
     at(Place::kDevice),
     {Grade::kWaits, For::kBefore},
     {"the same: the stream is synchronised, then the bytes are staged", kNotAsked}},
    {TransferForm::kCopy,
     at(Place::kPinned),
     at(Place::kDevice),
     {Grade::kWaits, For::kItself},
     {kPage, kNotAsked}},
    {TransferForm::kCopy, at(Place::kDevice), at(Place::kDevice), {}, {kPage, kNotAsked}},
    // With a stream.
    {TransferForm::kCopyAsync,
     kAnyHost,
     kAnyHost,
     {Grade::kWaits, For::kItself},
     {kPage, kNotAsked}},
    {TransferForm::kCopyAsync,
     at(Place::kDevice),
     at(Place::kPageable),
     {Grade::kMayWait, For::kItself},
     {"the same: it might wait; before CUDA 12.2, it waits", kNotAsked}},
    {TransferForm::kCopyAsync,
     at(Place::kPageable),
     at(Place::kDevice),
     {Grade::kMayWait, For::kBefore},
     {"the same: the driver may synchronise with the stream and stage the bytes", kNotAsked}},
    {TransferForm::kCopyAsync,
     at(Place::kDevice),
     at(Place::kPinned),
     {Grade::kTells, For::kBefore},
     {"the same: it does not wait; the host may look at what it writes", kNotAsked}},
    {TransferForm::kCopyAsync, at(Place::kPinned), at(Place::kDevice), {}, {kPage, kNotAsked}},
    {TransferForm::kCopyAsync, at(Place::kDevice), at(Place::kDevice), {}, {kPage, kNotAsked}},
    // Fills, whose source is no place.
    {TransferForm::kFill,
     kAnyPlace,
     at(Place::kPinned),
     {Grade::kWaits, For::kItself},
     {kPage, kNotAsked}},
    {TransferForm::kFill, kAnyPlace, at(Place::kDevice), {}, {kPage, kNotAsked}},
    {TransferForm::kFillAsync,
     kAnyPlace,
     at(Place::kPinned),
     {Grade::kTells, For::kBefore},
     {"the same: it does not wait; the host may look at what it writes", kNotAsked}},
    {TransferForm::kFillAsync, kAnyPlace, at(Place::kDevice), {}, {kPage, kNotAsked}},
};

// Calls that are no copies or fills. What is not here does not wait.
inline constexpr CallLine kCallLines[] = {
    {EntryPoint::kStreamSynchronize, {Grade::kWaits, For::kStream}, {"cuda.h", "H200: it waits"}},
    {EntryPoint::kStreamQuery,
     {Grade::kWaits, For::kStream},
     {"cuda.h, where it answers CUDA_SUCCESS", kNotAsked}},
    {EntryPoint::kEventSynchronize, {Grade::kWaits, For::kEvent}, {"cuda.h", kNotAsked}},
    {EntryPoint::kEventQuery,
     {Grade::kWaits, For::kEvent},
     {"cuda.h, where it answers CUDA_SUCCESS", kNotAsked}},
    {EntryPoint::kCtxSynchronize, {Grade::kWaits, For::kContext}, {"cuda.h", "H200: it waits"}},
    {EntryPoint::kCtxSynchronize_v2, {Grade::kWaits, For::kContext}, {"cuda.h", kNotAsked}},

    {EntryPoint::kMemFree,
     {Grade::kMayWait, For::kEverything},
     {"cuda.h: it may synchronise, but not for memory of a pool", "H200: it waits"}},
    {EntryPoint::kMemFreeHost, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},
    {EntryPoint::kMemHostUnregister, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},
    {EntryPoint::kIpcCloseMemHandle,
     {Grade::kMayWait, For::kEverything},
     {"nothing", "H100, H200: it waits"}},
    {EntryPoint::kArrayDestroy, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},
    {EntryPoint::kMipmappedArrayDestroy,
     {Grade::kMayWait, For::kEverything},
     {"nothing", kNotAsked}},
    {EntryPoint::kModuleUnload, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},
    {EntryPoint::kLibraryUnload, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},

    // They end a context, and may end all that was queued there.
    {EntryPoint::kCtxDestroy, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},
    {EntryPoint::kCtxDetach, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},
    {EntryPoint::kGreenCtxDestroy, {Grade::kMayWait, For::kEverything}, {"nothing", kNotAsked}},
    {EntryPoint::kDevicePrimaryCtxRelease,
     {Grade::kMayWait, For::kEverything},
     {"nothing", kNotAsked}},
    {EntryPoint::kDevicePrimaryCtxReset,
     {Grade::kMayWait, For::kEverything},
     {"nothing", kNotAsked}},

    // These do not wait.
    {EntryPoint::kStreamDestroy, {}, {"cuda.h: it returns at once", kNotAsked}},
    {EntryPoint::kEventDestroy, {}, {"cuda.h: it returns at once", kNotAsked}},
    {EntryPoint::kGraphExecDestroy, {}, {"cuda.h: the graph is freed when it is done", kNotAsked}},
    {EntryPoint::kMemFreeAsync, {}, {"cuda.h: it is queued", kNotAsked}},
    {EntryPoint::kMemPoolDestroy, {}, {"cuda.h: it returns at once", kNotAsked}},
    {EntryPoint::kMemPoolTrimTo,
     {},
     {"cuda.h: memory that work may use is kept, which needs no wait", kNotAsked}},
    {EntryPoint::kMemUnmap, {}, {"nothing", "H200: it does not wait"}},

    // Who is behind the work may tell another thread, or write what it polls.
    {EntryPoint::kLaunchHostFunc, {Grade::kTells, For::kItself}, {"cuda.h", kNotAsked}},
    {EntryPoint::kLaunchHostFunc_v2, {Grade::kTells, For::kItself}, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamAddCallback, {Grade::kTells, For::kItself}, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamWriteValue32, {Grade::kTells, For::kBefore}, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamWriteValue64, {Grade::kTells, For::kBefore}, {"cuda.h", kNotAsked}},
    {EntryPoint::kStreamBatchMemOp, {Grade::kTells, For::kBefore}, {"cuda.h", kNotAsked}},
    {EntryPoint::kSignalExternalSemaphoresAsync,
     {Grade::kTells, For::kItself},
     {"cuda.h: another API waits for it", kNotAsked}},
};

}  // namespace detail

/// What the host knows when a copy or fill has returned CUDA_SUCCESS. `from` of a fill is not read.
constexpr HostWait host_wait(TransferForm form, Place from, Place to) {
  for (const detail::TransferLine& line : detail::kTransferLines) {
    const bool fits =
        line.form == form && (line.from & detail::at(from)) != 0 && (line.to & detail::at(to)) != 0;
    if (fits) return line.wait;
  }
  return {HostWait::Grade::kMayWait, HostWait::For::kItself};
}

/// The same of memory, or a context, with SYNC_MEMOPS: cuda.h says of cuPointerSetAttribute and
/// CU_CTX_SYNC_MEMOPS that copies and fills without a stream always wait then.
constexpr HostWait host_wait_with_sync_memops(TransferForm form, Place from, Place to) {
  const bool streamless = form == TransferForm::kCopy || form == TransferForm::kFill;
  if (streamless) return {HostWait::Grade::kWaits, HostWait::For::kItself};
  return host_wait(form, from, to);
}

/// The same of any other call.
constexpr HostWait host_wait(EntryPoint call) {
  for (const detail::CallLine& line : detail::kCallLines) {
    if (line.call == call) return line.wait;
  }
  return {};
}

/// Whether the call queues a wait for a word in memory, or for a semaphore: whatever is queued
/// anywhere, by others too, may be what it waits for. Of a batch, whether it may have such a wait.
constexpr bool waits_for_others(EntryPoint call) {
  return call == EntryPoint::kStreamWaitValue32 || call == EntryPoint::kStreamWaitValue64 ||
         call == EntryPoint::kStreamBatchMemOp || call == EntryPoint::kWaitExternalSemaphoresAsync;
}

// The same of the nodes of a graph.

/// Whether the host may learn from a node of a graph that nodes before it are over, while later
/// ones still run: a function of its own, an event, a word in its memory, a semaphore.
constexpr bool tells_the_host(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_HOST || type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ||
         type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
}
constexpr bool waits_for_others(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_WAIT_EVENT || type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP ||
         type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
}

}  // namespace cuvmm
