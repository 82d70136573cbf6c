// SPDX-License-Identifier: Apache-2.0
// Asks for captures where no stream captures. A driver then writes the status alone, so the other
// variables hold what was there before: pointers that lead nowhere.
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "driver.h"

namespace {

// The variables of a program that never set them.
struct Unset {
  CUstreamCaptureStatus status;
  cuuint64_t id;
  CUgraph graph;
  const CUgraphNode* nodes;
  const void* edges;
  std::size_t count;
  Unset() { std::memset(static_cast<void*>(this), 0x77, sizeof *this); }
};

int ask(CUstream stream, const char* what) {
  int failed = 0;
  for (const char* end : {"", "_ptsz"}) {
    char name[64];
    const auto named = [&](const char* version) {
      std::snprintf(name, sizeof name, "cuStreamGetCaptureInfo%s%s", version, end);
      return name;
    };
    const auto check = [&](CUresult result) {
      if (result == CUDA_SUCCESS) return;
      std::printf("%s of %s answered %d\n", name, what, static_cast<int>(result));
      ++failed;
    };
    Unset a, b, c;
    check(call(named(""), stream, &a.status, &a.id));
    check(call(named("_v2"), stream, &b.status, &b.id, &b.graph, &b.nodes, &b.count));
    check(call(named("_v3"), stream, &c.status, &c.id, &c.graph, &c.nodes, &c.edges, &c.count));
  }
  return failed;
}

}  // namespace

int main() {
  primary();
  CUstream stream = nullptr;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  int failed = ask(nullptr, "the null stream") + ask(stream, "a stream");
  // A capture that is invalid: a call in it, which every mode forbids, has been refused.
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  cuStreamSynchronize(stream);
  failed += ask(stream, "a stream whose capture is invalid");
  CUgraph graph = nullptr;
  cuStreamEndCapture(stream, &graph);
  must(cuStreamDestroy(stream));
  std::puts(failed == 0 ? "all answered" : "some failed");
  return failed == 0 ? 0 : 1;
}
