// SPDX-License-Identifier: Apache-2.0
// User objects, which end with the last reference of the program and of graphs.
#include "emulator/graph/user_objects.h"

#include "emulator/core/export.h"

namespace cuvmm::emulator {

namespace {

constexpr unsigned kMost = 0x7fffffff;  // the documentation limits a count to INT_MAX

bool legal(unsigned count) { return count != 0 && count <= kMost; }

CUresult done(bool worked) { return worked ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

}  // namespace

CUVMM_DRIVER_FUNCTION(cuUserObjectCreate, CUuserObject* out, void* data, CUhostFn destroy,
                      unsigned count, unsigned flags) {
  return locked([&](Emulator& e) -> CUresult {
    // The flag promises that no call waits for the destructor, and must be given.
    if (!out || !destroy || !legal(count) || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *out = e.graphs.add(UserObject{destroy, data, count});
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuUserObjectRetain, CUuserObject object, unsigned count) {
  return locked([&](Emulator& e) { return done(legal(count) && e.graphs.retain(object, count)); });
}

CUVMM_DRIVER_FUNCTION(cuUserObjectRelease, CUuserObject object, unsigned count) {
  return ending_objects(
      [&](Emulator& e) { return done(legal(count) && e.graphs.release(object, count)); });
}

CUVMM_DRIVER_FUNCTION(cuGraphRetainUserObject, CUgraph graph, CUuserObject object, unsigned count,
                      unsigned flags) {
  return locked([&](Emulator& e) {
    const bool move = flags == CU_GRAPH_USER_OBJECT_MOVE;
    const Graph* const found = e.graphs.find(graph);
    return done(found && !found->broken && legal(count) && (flags == 0 || move) &&
                e.graphs.retain(graph, object, count, move));
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphReleaseUserObject, CUgraph graph, CUuserObject object,
                      unsigned count) {
  return ending_objects([&](Emulator& e) {
    return done(e.graphs.find(graph) && legal(count) && e.graphs.release(graph, object, count));
  });
}

}  // namespace cuvmm::emulator
