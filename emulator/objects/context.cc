// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/context.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

namespace cuvmm::emulator {

namespace {
constexpr std::size_t kDefaultLimits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};
}

void Contexts::open(int devices) {
  faults_.assign(static_cast<std::size_t>(devices), CUDA_SUCCESS);
  for (int device = 0; device < devices; ++device) {
    Context& context = create(device, 0);
    context.primary = true;
    context.alive = false;
    primaries_.push_back(&context);
  }
}

Context& Contexts::create(int device, unsigned flags) {
  all_.push_back(std::make_unique<Context>());
  Context& context = *all_.back();
  context.device = device;
  context.flags = flags;
  context.alive = true;
  context.id = all_.size();
  for (std::size_t i = 0; i < std::min(std::size(kDefaultLimits), std::size(context.limits)); ++i) {
    context.limits[i] = kDefaultLimits[i];
  }
  return context;
}

Context& Contexts::create_green(const DevicePart& part) {
  Context& context = create(part.device, 0);
  context.shares = &primary(part.device);
  context.part = part;
  return context;
}

Context* Contexts::find(CUcontext handle) const {
  Context* const context = find_itself(handle);
  return context ? context->owner() : nullptr;
}

Context* Contexts::find_itself(CUcontext handle) const {
  for (const auto& context : all_) {
    if (context->handle() == handle) return context.get();
  }
  return nullptr;
}

Context* Contexts::find(CUgreenCtx handle) const {
  for (const auto& context : all_) {
    if (handle && context->green() == handle) return context.get();
  }
  return nullptr;
}

CUdevResourceDesc Contexts::describe(const DevicePart& part) {
  described_.push_back(std::make_unique<DevicePart>(part));
  return reinterpret_cast<CUdevResourceDesc>(described_.back().get());
}

const DevicePart* Contexts::described(CUdevResourceDesc handle) const {
  for (const auto& part : described_) {
    if (reinterpret_cast<CUdevResourceDesc>(part.get()) == handle) return part.get();
  }
  return nullptr;
}

ContextStack& ContextStack::of_this_thread() {
  static_assert(std::is_trivially_destructible_v<ContextStack>);
  static constinit thread_local ContextStack stack;
  return stack;
}

void ContextStack::push(Context* context, bool until_pop) {
  static_assert(kFew <= 8 * sizeof until_pop_);
  if (depth_ < kFew) {
    few_[depth_] = context;
    if (until_pop) until_pop_ |= static_cast<std::uint8_t>(1u << depth_);
  } else {
    more_ = new Level{context, more_};
  }
  ++depth_;
}

void ContextStack::pop() {
  if (depth_ > kFew) {
    const Level* const level = more_;
    more_ = level->below;
    delete level;
  }
  --depth_;
  if (depth_ < kFew) until_pop_ &= static_cast<std::uint8_t>(~(1u << depth_));
}

void ContextStack::set(Context* context) {
  const std::uint8_t until_pop = until_pop_;
  if (depth_ != 0) pop();
  if (!context) return;
  push(context);
  until_pop_ = until_pop;
}

}  // namespace cuvmm::emulator
