// SPDX-License-Identifier: Apache-2.0
// Prints each call's answer while a stream captures, and the state of the capture and of its graph
// after it.
//
//   capture MODE THREAD BLOCKING
//
// MODE 0 global, 1 thread-local, 2 relaxed; THREAD 1: another thread than the capturing one calls;
// BLOCKING 1: the legacy stream waits for the capturing stream. Prints a line per call:
// NAME|answer|status of the stream|answer of the end|nodes|instantiate|launch|synchronize after.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulator/testing_capture/scene.h"

namespace {

using namespace cuvmm::capture_test;

struct SetUp {
  CUstreamCaptureMode mode;
  bool other_thread, blocking;
};

std::string name_of(CUresult result) {
  const char* name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS) return std::to_string(result);
  std::string whole = name;
  for (const char* prefix : {"CUDA_ERROR_", "CUDA_"}) {
    if (whole.starts_with(prefix)) return whole.substr(std::string(prefix).size());
  }
  return whole;
}

const char* name_of(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "memcpy";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "memset";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "host";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "alloc";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "free";
    default:
      return "other";
  }
}

std::string nodes_of(CUgraph graph) {
  std::size_t count = 0;
  CUVMM_REQUIRE(cuGraphGetNodes(graph, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  if (count) CUVMM_REQUIRE(cuGraphGetNodes(graph, nodes.data(), &count));
  std::string text;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    CUVMM_REQUIRE(cuGraphNodeGetType(node, &type));
    text += (text.empty() ? "" : " ") + std::string(name_of(type));
  }
  return text;
}

void one(CUcontext context, const SetUp& how, const Named& named) {
  const auto scene = std::make_unique<Scene>();
  Scene& s = *scene;
  prepare(s, how.blocking);
  CUVMM_REQUIRE(cuStreamBeginCapture(s.capturing, how.mode));
  CUresult answer = CUDA_SUCCESS;
  if (how.other_thread) {
    std::thread([&] {
      CUVMM_REQUIRE(cuCtxSetCurrent(context));
      answer = named.call(s);
    }).join();
  } else {
    answer = named.call(s);
  }
  CUstreamCaptureStatus status{};
  CUVMM_REQUIRE(cuStreamIsCapturing(s.capturing, &status));
  CUgraph graph = nullptr;
  const CUresult end = cuStreamEndCapture(s.capturing, &graph);
  const std::string nodes = graph ? nodes_of(graph) : "";
  CUresult instantiated = CUDA_SUCCESS, launched = CUDA_SUCCESS;
  CUgraphExec executable = nullptr;
  if (!nodes.empty()) {
    instantiated = cuGraphInstantiate(&executable, graph, 0);
    if (executable) launched = cuGraphLaunch(executable, s.other);
  }
  const CUresult after = cuCtxSynchronize();
  const char* const kStatus[] = {"none", "active", "invalidated"};
  std::printf("%s|%s|%s|%s|%s|%s|%s|%s\n", named.name, name_of(answer).c_str(), kStatus[status],
              name_of(end).c_str(), nodes.c_str(), name_of(instantiated).c_str(),
              name_of(launched).c_str(), name_of(after).c_str());
  if (executable) CUVMM_REQUIRE(cuGraphExecDestroy(executable));
  if (graph) CUVMM_REQUIRE(cuGraphDestroy(graph));
  if (s.registered) cuMemHostUnregister(s.registered);  // the call may have unregistered it
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: capture MODE THREAD BLOCKING\n");
    return 2;
  }
  const SetUp how{static_cast<CUstreamCaptureMode>(std::atoi(arguments[1])),
                  std::atoi(arguments[2]) != 0, std::atoi(arguments[3]) != 0};
  CUcontext context = nullptr;
  CUVMM_REQUIRE(cuInit(0));
  CUVMM_REQUIRE(cuDevicePrimaryCtxRetain(&context, 0));
  CUVMM_REQUIRE(cuCtxSetCurrent(context));
  for (const auto calls : {vmm_calls(), memory_calls(), pool_calls(), stream_calls()}) {
    for (const Named& named : calls) one(context, how, named);
  }
  return 0;
}
