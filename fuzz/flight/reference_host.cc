// SPDX-License-Identifier: Apache-2.0
// The work that a program knows to be over by a copy from or to the host, or by a word that a
// stream writes. Source: NVIDIA's page on the synchronisation behaviour of the API.
#include <algorithm>

#include "fuzz/flight/reference.h"

namespace cuvmm::fuzz::flight {

bool Reference::pinned(const void* host) const {
  return std::any_of(pinned_.begin(), pinned_.end(), [&](const Object& block) {
    return Bytes{block.value, block.size}.holds({value_of(host), 1});
  });
}

Opinion Reference::judge(const calls::MemAllocHost& made, int) { return plain(made.bytesize != 0); }
void Reference::accept(const calls::MemAllocHost& made, int) {
  pinned_.push_back({value_of(*made.pp), made.bytesize});
}

namespace {

// A copy of so few bytes may read a flag that other work writes, and so tell the program how far
// that work is.
constexpr std::uint64_t kMostOfAFlag = 1024;

}  // namespace

// A copy to the host returns only when it is done.
Opinion Reference::judge(const calls::MemcpyDtoH& made, int thread) {
  return telling(0, thread, {made.srcDevice, made.ByteCount});
}
void Reference::accept(const calls::MemcpyDtoH& made, int thread) {
  const Node node = queue(0, thread, {{made.srcDevice, made.ByteCount}});
  history_.learn({node});
  if (made.ByteCount <= kMostOfAFlag) history_.look(node);
}

// On a stream, a copy may return only when it is done where the memory is pageable. Where it is
// page-locked, the program can look at the memory, and so see whether the stream has come to the
// copy.
Opinion Reference::judge(const calls::MemcpyDtoHAsync& made, int thread) {
  return telling(value_of(made.hStream), thread, {made.srcDevice, made.ByteCount});
}
void Reference::accept(const calls::MemcpyDtoHAsync& made, int thread) {
  const Node node = queue(value_of(made.hStream), thread, {{made.srcDevice, made.ByteCount}});
  history_.tell({node});
  if (made.ByteCount <= kMostOfAFlag) history_.look(node);
}

// From pageable memory: the copy synchronises the stream, keeps the bytes and returns. From
// page-locked memory it returns when it is done.
Opinion Reference::judge(const calls::MemcpyHtoD& made, int thread) {
  return telling(0, thread, {made.dstDevice, made.ByteCount});
}
void Reference::accept(const calls::MemcpyHtoD& made, int thread) {
  const Node node = queue(0, thread, {{made.dstDevice, made.ByteCount}});
  history_.learn(pinned(made.srcHost) ? std::vector<Node>{node} : history_.piece(node).after);
}

// On a stream, a copy may synchronise; from page-locked memory it does not.
Opinion Reference::judge(const calls::MemcpyHtoDAsync& made, int thread) {
  return telling(value_of(made.hStream), thread, {made.dstDevice, made.ByteCount});
}
void Reference::accept(const calls::MemcpyHtoDAsync& made, int thread) {
  const Node node = queue(value_of(made.hStream), thread, {{made.dstDevice, made.ByteCount}});
  if (!pinned(made.srcHost)) history_.tell(history_.piece(node).after);
}

// The program may look at the word.
Opinion Reference::judge(const calls::StreamWriteValue32& made, int thread) {
  return telling(value_of(made.stream), thread, {made.addr, sizeof made.value});
}
void Reference::accept(const calls::StreamWriteValue32& made, int thread) {
  const Node node = queue(value_of(made.stream), thread, {{made.addr, sizeof made.value}});
  history_.tell(history_.piece(node).after);
}

}  // namespace cuvmm::fuzz::flight
