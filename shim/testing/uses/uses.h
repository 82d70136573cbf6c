// SPDX-License-Identifier: Apache-2.0
// Every kind of plain object in each of its states, and every call that uses such an object: the
// matrix of docs/testing/uses.md.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <vector>

namespace uses {

/// The use of memory reads or writes this many bytes.
inline constexpr std::size_t kUsed = 64;
/// The bytes of memory that a state makes.
inline constexpr std::size_t kMade = std::size_t{1} << 20;

/// What a state makes; only the members of its kind are set.
struct Object {
  CUdeviceptr address = 0;
  void* host = nullptr;
  CUarray array = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
};

/// The object as a use finds it.
struct State {
  const char* kind;    ///< "device", "host", "array", "stream", "event", "context", "pool"
  const char* object;  ///< "memory of cuMemAlloc"
  const char* state;   ///< "alive", "freed", "past its end"
  void (*make)(Object&);
};

struct Use {
  const char* kind;
  const char* call;
  CUresult (*make)(const Object&);
};

/// Objects that live throughout, for the other arguments of a use.
struct Scene {
  CUdevice device = 0;
  CUcontext context = nullptr;  ///< the primary context, which is current
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  CUarray array = nullptr;
  char* host = nullptr;  ///< pageable
};
extern Scene scene;

/// Ends the process with 3 if a legal call is refused.
void must(CUresult result, const char* call);
#define MUST(call) ::uses::must((call), #call)

/// A context beside the primary one, which becomes current; end_context() destroys it.
void begin_context();
void end_context();

const std::vector<State>& memory_states();
const std::vector<State>& object_states();
const std::vector<Use>& memory_uses();
const std::vector<Use>& object_uses();

}  // namespace uses
