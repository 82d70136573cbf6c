// SPDX-License-Identifier: Apache-2.0
// The calls that programs about work in flight are made of.
#pragma once

/// X(call) for each: its struct is calls::call.
#define CUVMM_FLIGHT_CALLS(X)                                                                     \
  X(MemAddressReserve)                                                                            \
  X(MemAddressFree) X(MemCreate) X(MemRelease) X(MemMap) X(MemUnmap) X(MemSetAccess)              \
      X(MemExportToShareableHandle) X(ImportExternalMemory) X(ExternalMemoryGetMappedBuffer)      \
          X(DestroyExternalMemory) X(MemPoolCreate) X(MemAllocFromPoolAsync) X(MemFreeAsync)      \
              X(MemAlloc) X(MemFree) X(IpcOpenMemHandle) X(IpcCloseMemHandle) X(MemsetD8)         \
                  X(MemsetD8Async) X(MemcpyDtoD) X(MemcpyDtoDAsync) X(MemcpyDtoH) X(StreamCreate) \
                      X(StreamDestroy) X(StreamSynchronize) X(StreamQuery) X(StreamWaitEvent)     \
                          X(EventCreate) X(EventDestroy) X(EventRecord) X(EventSynchronize)       \
                              X(EventQuery) X(CtxSynchronize) X(StreamBeginCapture)               \
                                  X(StreamEndCapture) X(GraphInstantiateWithFlags) X(GraphLaunch) \
                                      X(GraphExecDestroy)
