// SPDX-License-Identifier: Apache-2.0
// Calls of subroutines. A call keeps the registers of the function that it enters, so that a
// function may be entered again before it returns.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

constexpr std::uint64_t kMostStack = 1 << 20;  // bytes of a thread

template <class Body>
void each_set(Mask m, Body&& body) {
  for (; m != 0; m &= m - 1) body(static_cast<unsigned>(std::countr_zero(m)));
}

}  // namespace

// Null after a fault.
const Subroutine* Warp::callee(const Instruction& i, const Call& call, unsigned lane) {
  if (call.subroutine != Call::kByAddress) return &code_.subroutines[call.subroutine];
  const std::uint64_t address = reg(i.a)[lane];
  const auto& all = code_.subroutines;
  const auto found = std::ranges::find(all, address, &Subroutine::address);
  if (found != all.end() && found->parameters.size() == call.given.size() &&
      found->returned.size() == call.returned.size())
    return &*found;
  fail(i, lane, CUDA_ERROR_INVALID_PC, "a call of an address at which no such function begins");
  return nullptr;
}

bool Warp::copy_local(unsigned lane, std::uint64_t from, std::uint64_t to, std::uint64_t size) {
  const auto bytes = static_cast<unsigned>(size);
  const char* const in = local(from, lane, bytes);
  char* const out = local(to, lane, bytes);
  if (in && out) std::memmove(out, in, size);
  return in && out;
}

void Warp::call(const Instruction& i, Mask m) {
  const Call& call = code_.calls[i.target];
  each_set(running_ & ~m, [&](unsigned lane) { pc_of_[lane] = pc_ + 1; });
  each_set(m, [&](unsigned lane) {
    const Subroutine* const to = callee(i, call, lane);
    if (!to) return;
    Stack& stack = stacks_[lane];
    const std::uint64_t frame = code_.local_bytes + stack.frames.size();
    if (stack.frames.size() + to->frame_bytes + stack.saved.size() * sizeof stack.saved[0] >
        kMostStack)
      return fail(i, lane, CUDA_ERROR_HARDWARE_STACK_ERROR,
                  "calls of `" + to->name + "` are too deep for the stack");
    stack.frames.resize(stack.frames.size() + to->frame_bytes);
    const std::uint64_t own = reg(call.frame)[lane];
    for (std::size_t k = 0; k < call.given.size(); ++k) {
      const Slot& formal = to->parameters[k];
      copy_local(lane, own + call.given[k].offset, frame + formal.offset, formal.size);
    }
    std::vector<std::uint64_t>& saved = stack.saved;
    for (std::uint32_t slot = to->first_register; slot < to->last_register; ++slot)
      saved.push_back(reg(slot)[lane]);
    for (std::uint32_t slot = to->first_predicate; slot < to->last_predicate; ++slot)
      saved.push_back(predicates_[slot] >> lane & 1);
    saved.push_back(static_cast<std::uint64_t>(to - code_.subroutines.data()));
    saved.push_back(i.target);
    saved.push_back(pc_ + 1);
    reg(to->frame)[lane] = frame;
    pc_of_[lane] = to->entry;
  });
  running_ = 0;
}

void Warp::leave(Mask m) {
  each_set(running_ & ~m, [&](unsigned lane) { pc_of_[lane] = pc_ + 1; });
  each_set(m, [&](unsigned lane) {
    Stack& stack = stacks_[lane];
    const auto pop = [&] {
      const std::uint64_t value = stack.saved.back();
      stack.saved.pop_back();
      return value;
    };
    pc_of_[lane] = static_cast<std::uint32_t>(pop());
    const Call& call = code_.calls[pop()];
    const Subroutine& from = code_.subroutines[pop()];
    const std::uint64_t frame = reg(from.frame)[lane];
    for (std::uint32_t slot = from.last_predicate; slot-- > from.first_predicate;) {
      const Mask bit = Mask{1} << lane;
      predicates_[slot] = pop() ? predicates_[slot] | bit : predicates_[slot] & ~bit;
    }
    for (std::uint32_t slot = from.last_register; slot-- > from.first_register;)
      reg(slot)[lane] = pop();
    const std::uint64_t own = reg(call.frame)[lane];
    for (std::size_t k = 0; k < call.returned.size(); ++k) {
      const Slot& formal = from.returned[k];
      copy_local(lane, frame + formal.offset, own + call.returned[k].offset, formal.size);
    }
    stack.frames.resize(stack.frames.size() - from.frame_bytes);
  });
  running_ = 0;
}

}  // namespace cuvmm::kernels
