// SPDX-License-Identifier: Apache-2.0
// Streams, events and contexts.
#include "emulator/testing_capture/scene.h"

namespace cuvmm::capture_test {

namespace {

// Records an event on the capturing stream, and calls kThen.
template <CUresult (*kThen)(Scene&)>
CUresult captured_event(Scene& s) {
  const CUresult result = cuEventRecord(s.event, s.capturing);
  return result == CUDA_SUCCESS ? kThen(s) : result;
}

CUresult query(Scene& s) { return cuEventQuery(s.event); }
CUresult synchronize(Scene& s) { return cuEventSynchronize(s.event); }
CUresult fork(Scene& s) { return cuStreamWaitEvent(s.other, s.event, 0); }

CUresult fork_work_join(Scene& s) {
  CUresult result = fork(s);
  if (result == CUDA_SUCCESS) result = cuMemsetD8Async(s.one, 1, 16, s.other);
  if (result == CUDA_SUCCESS) result = cuEventRecord(s.recorded, s.other);
  return result == CUDA_SUCCESS ? cuStreamWaitEvent(s.capturing, s.recorded, 0) : result;
}

CUresult end_other(Scene& s) {
  CUgraph graph = nullptr;
  return cuStreamEndCapture(s.other, &graph);
}

CUresult legacy_status(Scene&) {
  CUstreamCaptureStatus status{};
  return cuStreamIsCapturing(nullptr, &status);
}

constexpr Named kCalls[] = {
    {"cuDeviceGetAttribute",
     [](Scene&) {
       int value = 0;
       return cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0);
     }},
    {"cuCtxSynchronize", [](Scene&) { return cuCtxSynchronize(); }},
    {"cuStreamSynchronize/capturing", [](Scene& s) { return cuStreamSynchronize(s.capturing); }},
    {"cuStreamSynchronize/other", [](Scene& s) { return cuStreamSynchronize(s.other); }},
    {"cuStreamSynchronize/legacy", [](Scene&) { return cuStreamSynchronize(nullptr); }},
    {"cuStreamQuery/capturing", [](Scene& s) { return cuStreamQuery(s.capturing); }},
    {"cuStreamQuery/other", [](Scene& s) { return cuStreamQuery(s.other); }},
    {"cuStreamQuery/legacy", [](Scene&) { return cuStreamQuery(nullptr); }},
    {"cuStreamIsCapturing/legacy", legacy_status},
    {"cuStreamGetFlags/capturing",
     [](Scene& s) {
       unsigned flags = 0;
       return cuStreamGetFlags(s.capturing, &flags);
     }},
    {"cuStreamCreate",
     [](Scene&) {
       CUstream stream = nullptr;
       return cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
     }},
    {"cuEventCreate",
     [](Scene&) {
       CUevent event = nullptr;
       return cuEventCreate(&event, 0);
     }},
    {"cuEventRecord/capturing", [](Scene& s) { return cuEventRecord(s.event, s.capturing); }},
    {"cuEventRecord/other", [](Scene& s) { return cuEventRecord(s.event, s.other); }},
    {"cuEventRecord/legacy", [](Scene& s) { return cuEventRecord(s.event, nullptr); }},
    {"cuEventQuery/uncaptured", [](Scene& s) { return cuEventQuery(s.recorded); }},
    {"cuEventSynchronize/uncaptured", [](Scene& s) { return cuEventSynchronize(s.recorded); }},
    {"cuEventQuery/captured", captured_event<query>},
    {"cuEventSynchronize/captured", captured_event<synchronize>},
    {"cuStreamWaitEvent/capturing-uncaptured",
     [](Scene& s) { return cuStreamWaitEvent(s.capturing, s.recorded, 0); }},
    {"cuStreamWaitEvent/other-captured-unjoined", captured_event<fork>},
    {"cuStreamWaitEvent/fork-work-join", captured_event<fork_work_join>},
    {"cuLaunchHostFunc/capturing",
     [](Scene& s) {
       return cuLaunchHostFunc(
           s.capturing, [](void*) {}, nullptr);
     }},
    {"cuStreamBeginCapture/again",
     [](Scene& s) { return cuStreamBeginCapture(s.capturing, CU_STREAM_CAPTURE_MODE_GLOBAL); }},
    {"cuStreamBeginCapture/legacy",
     [](Scene&) { return cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL); }},
    {"cuStreamEndCapture/other", end_other},
    {"cuDevicePrimaryCtxRetain",
     [](Scene&) {
       CUcontext context = nullptr;
       return cuDevicePrimaryCtxRetain(&context, 0);
     }},
    {"cuCtxGetDevice",
     [](Scene&) {
       CUdevice device = 0;
       return cuCtxGetDevice(&device);
     }},
};

}  // namespace

std::span<const Named> stream_calls() { return kCalls; }

}  // namespace cuvmm::capture_test
