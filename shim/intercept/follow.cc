// SPDX-License-Identifier: Apache-2.0
#include "shim/intercept/follow.h"

#include "shim/process/process.h"

namespace cuvmm::shim {

namespace {

// Restores the program's errno to the driver's value.
class KeepErrno {
 public:
  KeepErrno() = default;
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;
  ~KeepErrno() { errno = saved_; }

 private:
  const int saved_ = errno;
};

const Driver& driver_table() { return Process::get().driver().functions; }

StackId stack_of(const Caller& direct) {
  const RuntimeCall* const runtime = runtime_call();
  return capture_stack(runtime ? runtime->caller : direct);
}

void find_context(PlainObject& object) {
  CUcontext context = nullptr;
  if (driver_table()(calls::CtxGetCurrent{&context}) != CUDA_SUCCESS || !context) return;
  object.context = reinterpret_cast<std::uintptr_t>(context);
  CUdevice device = -1;
  if (object_table().is_made(object.context)) return;
  if (driver_table()(calls::CtxGetDevice{&device}) == CUDA_SUCCESS) object.device = device;
}

}  // namespace

void note_made(PlainObject::Kind kind, std::uint64_t value, const Caller& direct,
               const char* function, unsigned flags) noexcept {
  if (value == 0) return;
  const KeepErrno keep;
  if (in_flight()) return object_table().forget(kind, value);
  PlainObject object{.kind = kind, .value = value, .made = stack_of(direct), .flags = flags};
  note_function(object.made, function);
  if (object.ends_with_context()) find_context(object);
  object_table().add(object);
}

void note_part(PlainObject::Kind kind, std::uint64_t value, PlainObject::Kind whole_kind,
               std::uint64_t whole, std::uint64_t size) noexcept {
  if (value == 0) return;
  const KeepErrno keep;
  if (in_flight()) return object_table().forget(kind, value);
  object_table().add_part(kind, value, whole_kind, whole, size);
}

void note_part_beside(PlainObject::Kind kind, std::uint64_t value, std::uint64_t other) noexcept {
  const KeepErrno keep;
  object_table().add_part_beside(kind, value, other);
}

void note_retained(int device, const Caller& direct) noexcept {
  if (in_flight()) return;
  const KeepErrno keep;
  object_table().retained(device, stack_of(direct));
}

void note_context_ended(std::uint64_t context, Origin at) noexcept {
  object_table().end_context(context, at);
}

void note_released(int device, const Caller& direct, Origin at) noexcept {
  if (in_flight()) return;
  const KeepErrno keep;
  object_table().released(device, stack_of(direct));
  unsigned flags = 0;
  int active = 1;
  const bool answered =
      driver_table()(calls::DevicePrimaryCtxGetState{device, &flags, &active}) == CUDA_SUCCESS;
  if (answered && active == 0) object_table().end_primary(device, at);
}

void note_reset(int device, Origin at) noexcept { object_table().end_primary(device, at); }

Origin end_by(const Caller& direct, const char* function, bool numbered) noexcept {
  const KeepErrno keep;
  Session& session = Process::current_session();
  const StackId stack = stack_of(direct);
  note_function(stack, function);
  return {.call = numbered ? session.last_number() : session.next_number(),
          .stack = stack,
          .thread = t_state.thread};
}

}  // namespace cuvmm::shim
