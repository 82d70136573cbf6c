// SPDX-License-Identifier: Apache-2.0
// cuFabricCpyBatchAsync: copies between pointers and logical endpoints.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "emulator/core/locked.h"
#include "emulator/core/work.h"
#include "emulator/endpoint/endpoint_entry.h"
#include "emulator/transfer/transfer_entry.h"

namespace cuvmm::emulator {

namespace {

bool is_endpoint(const CUfabricCpyOperand& operand) {
  return operand.type == CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;
}

// Whether the program has memory at every page of the range, as far as the kernel tells: reads a
// byte of each page.
bool program_has(Address base, Size size) {
  constexpr std::size_t kAtOnce = 64;
  const Address last = base + (size - 1);
  if (last < base) return false;
  for (Address at = base;;) {
    char bytes[kAtOnce];
    iovec from[kAtOnce];
    std::size_t count = 0;
    bool done = false;
    while (count < kAtOnce && !done) {
      from[count++] = {reinterpret_cast<void*>(at), 1};
      done = last - at < kPage - at % kPage;
      at += kPage - at % kPage;
    }
    const iovec to{bytes, count};
    const ssize_t got = process_vm_readv(getpid(), &to, 1, from, count, 0);
    if (got < 0 && errno != EFAULT) return true;  // a container may forbid process_vm_readv
    if (got != static_cast<ssize_t>(count)) return false;
    if (done) return true;
  }
}

// Whether memory lies behind a pointer operand, or is bound behind an endpoint.
CUresult look_behind(const Emulator& e, const CUfabricCpyOperand& operand, Size size, bool write) {
  if (is_endpoint(operand)) {
    const EndpointObject* endpoint = e.endpoints.find(operand.op.le.id);
    if (!endpoint) return CUDA_ERROR_INVALID_VALUE;
    const bool there = size == 0 || endpoint->team->unwritable(operand.op.le.offset, size).empty();
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  Touch touch;
  touch.base = operand.op.ptr.ptr;
  touch.width = size;
  touch.write = write;
  if (check_unmapped(e, touch, false) == CUDA_SUCCESS) return CUDA_SUCCESS;
  const CUresult found = check_unmapped(e, touch, true);
  if (found != CUDA_SUCCESS) return found;
  return program_has(touch.base, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult to_endpoint(Emulator& e, const Team& team, Size offset, Address from, Size size) {
  while (size != 0) {
    Size run = size;
    const char* bytes = e.resolve(from, &run, true);
    if (!bytes || !team.write(offset, bytes, run)) return CUDA_ERROR_INVALID_VALUE;
    offset += run;
    from += run;
    size -= run;
  }
  return CUDA_SUCCESS;
}

CUresult from_endpoint(Emulator& e, const Team& team, Size offset, Address to, Size size) {
  while (size != 0) {
    Size run = size;
    char* bytes = e.resolve(to, &run);
    if (!bytes || !team.read(offset, bytes, run)) return CUDA_ERROR_INVALID_VALUE;
    offset += run;
    to += run;
    size -= run;
  }
  return CUDA_SUCCESS;
}

CUresult look_behind_both(const Emulator& e, const CUDA_FABRIC_COPY_BATCH_OP& op) {
  const CUresult source = look_behind(e, op.src, op.size, false);
  return source == CUDA_SUCCESS ? look_behind(e, op.dst, op.size, true) : source;
}

CUresult copy(Emulator& e, const CUDA_FABRIC_COPY_BATCH_OP& op) {
  if (op.size == 0) return CUDA_SUCCESS;
  // Checks again, because a late stream may run the copy long after the call.
  const CUresult there = look_behind_both(e, op);
  if (there != CUDA_SUCCESS) return there;
  if (is_endpoint(op.dst)) {
    const EndpointObject* endpoint = e.endpoints.find(op.dst.op.le.id);
    return to_endpoint(e, *endpoint->team, op.dst.op.le.offset, op.src.op.ptr.ptr, op.size);
  }
  if (is_endpoint(op.src)) {
    const EndpointObject* endpoint = e.endpoints.find(op.src.op.le.id);
    return from_endpoint(e, *endpoint->team, op.src.op.le.offset, op.dst.op.ptr.ptr, op.size);
  }
  Copy plain;
  plain.to.base = plain.to.named = op.dst.op.ptr.ptr;
  plain.from.base = plain.from.named = op.src.op.ptr.ptr;
  plain.width = op.size;
  return execute(e, plain);
}

void find_place(const Emulator& e, const calls::FabricCpyBatchAsync& call, Facts& facts) {
  const Context* by = nullptr;
  static_cast<void>(use_stream(e, call.hStream, facts.place, by));
}

CUresult perform_batch(Emulator& e, const calls::FabricCpyBatchAsync& call, Facts facts) {
  const Context* by = nullptr;
  const CUresult stream = use_stream(e, call.hStream, facts.place, by);
  if (stream != CUDA_SUCCESS) return stream;
  if (call.numOps != 0 && !call.opList) return CUDA_ERROR_INVALID_VALUE;
  // Checks the whole batch before the first copy.
  for (std::size_t i = 0; i < call.numOps; ++i) {
    const CUDA_FABRIC_COPY_BATCH_OP& op = call.opList[i];
    if (is_endpoint(op.src) && is_endpoint(op.dst)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult found = look_behind_both(e, op);
    if (found != CUDA_SUCCESS) return found;
  }
  if (call.numOps == 0) return CUDA_SUCCESS;
  std::vector<CUDA_FABRIC_COPY_BATCH_OP> operations(call.opList, call.opList + call.numOps);
  return submit(e, call.hStream, [operations = std::move(operations)](Emulator& at) -> CUresult {
    for (const CUDA_FABRIC_COPY_BATCH_OP& op : operations) {
      const CUresult made = copy(at, op);
      if (made != CUDA_SUCCESS) return made;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

void add_facts(const Emulator& e, const calls::FabricCpyBatchAsync& call, Facts& facts) {
  find_place(e, call, facts);
}

CUresult perform(Emulator& e, const calls::FabricCpyBatchAsync& call, const Facts& facts,
                 const Retired&) {
  return perform_batch(e, call, facts);
}

}  // namespace cuvmm::emulator
