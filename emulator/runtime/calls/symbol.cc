// SPDX-License-Identifier: Apache-2.0
// Copies to and from a device's variables, by the program's names of them.
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/calls/copies.h"
#include "emulator/runtime/registered.h"

namespace cuvmm::runtime {

namespace {

// Part of a variable, in bytes.
struct Part {
  const void* symbol;
  std::size_t size, offset;
};

Error find(const Driver& driver, const Part& part, void*& place) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  const Error error = find_variable(driver, part.symbol, &address, &size);
  if (error != cudaSuccess) return error;
  if (part.offset > size || part.size > size - part.offset) return cudaErrorInvalidValue;
  place = reinterpret_cast<void*>(address + part.offset);
  return cudaSuccess;
}

bool to_device(int kind) {
  return kind == kHostToDevice || kind == kDeviceToDevice || kind == kAny;
}
bool from_device(int kind) {
  return kind == kDeviceToHost || kind == kDeviceToDevice || kind == kAny;
}

}  // namespace

CUVMM_RUNTIME_ON_STREAM(cudaMemcpyToSymbol, ptds, (symbol, source, size, offset, kind),
                        const void* symbol, const void* source, std::size_t size,
                        std::size_t offset, int kind) {
  void* place = nullptr;
  if (!to_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const Error error = find(driver, {symbol, size, offset}, place);
  return error == cudaSuccess ? copy(driver, place, source, size, kind) : error;
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpyFromSymbol, ptds, (target, symbol, size, offset, kind),
                        void* target, const void* symbol, std::size_t size, std::size_t offset,
                        int kind) {
  void* place = nullptr;
  if (!from_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const Error error = find(driver, {symbol, size, offset}, place);
  return error == cudaSuccess ? copy(driver, target, place, size, kind) : error;
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpyToSymbolAsync, ptsz, (symbol, source, size, offset, kind, stream),
                        const void* symbol, const void* source, std::size_t size,
                        std::size_t offset, int kind, CUstream stream) {
  void* place = nullptr;
  if (!to_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const Error error = find(driver, {symbol, size, offset}, place);
  return error == cudaSuccess ? copy_on(driver, place, source, size, kind, stream) : error;
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpyFromSymbolAsync, ptsz,
                        (target, symbol, size, offset, kind, stream), void* target,
                        const void* symbol, std::size_t size, std::size_t offset, int kind,
                        CUstream stream) {
  void* place = nullptr;
  if (!from_device(kind)) return cudaErrorInvalidMemcpyDirection;
  const Error error = find(driver, {symbol, size, offset}, place);
  return error == cudaSuccess ? copy_on(driver, target, place, size, kind, stream) : error;
}

}  // namespace cuvmm::runtime
