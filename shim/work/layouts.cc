// SPDX-License-Identifier: Apache-2.0
#include "shim/work/layouts.h"

#include <cxxabi.h>
#include <stdlib.h>

#include <algorithm>
#include <new>
#include <utility>

namespace cuvmm::shim {

namespace {

// More than a kernel can have: its parameters take 32 KiB at most.
constexpr std::size_t kMostParameters = 4096;

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  ::free(text);
  return result;
}

template <class Ask, class Handle>
bool read_layout(Ask ask, Handle handle, std::vector<Layout::Parameter>& out) {
  if (!ask) return false;
  for (std::size_t i = 0; i < kMostParameters; ++i) {
    std::size_t offset = 0, size = 0;
    const CUresult answer = ask(handle, i, &offset, &size);
    // One past the last.
    if (answer == CUDA_ERROR_INVALID_VALUE) return true;
    if (answer != CUDA_SUCCESS) break;
    out.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)});
  }
  out.clear();
  return false;
}

}  // namespace

const Layout& Layouts::look_up(CUfunction function) {
  std::uint64_t forgotten = 0;
  {
    const Locked lock(mutex_);
    forgotten = forgotten_;
    const auto found = known_.find(function);
    if (found != known_.end()) {
      place_of(function).store(found->second, std::memory_order_release);
      return *found->second;
    }
  }
  Layout layout = ask(function);
  std::string name = layout.hidden ? std::string() : name_of(function);
  const Locked lock(mutex_);
  if (!name.empty()) layout.function = &*names_.insert(std::move(name)).first;
  const Layout& kept = *layouts_.insert(std::move(layout)).first;
  // What was asked before others were told to forget is an answer for this call alone.
  if (forgotten == forgotten_) {
    known_[function] = &kept;
    place_of(function).store(&kept, std::memory_order_release);
  }
  return kept;
}

Layout Layouts::ask(CUfunction function) const {
  Layout layout;
  layout.handle = function;
  const auto kernel = reinterpret_cast<CUkernel>(function);
  layout.hidden = !read_layout(ask_.function_parameter, function, layout.parameters) &&
                  !read_layout(ask_.kernel_parameter, kernel, layout.parameters);
  layout.words = !layout.hidden && std::ranges::all_of(layout.parameters, [](const auto& each) {
    return each.size == sizeof(std::uint64_t) && each.offset % sizeof(std::uint64_t) == 0;
  });
  return layout;
}

std::string Layouts::name_of(CUfunction function) const {
  const char* name = nullptr;
  if (ask_.function_name && ask_.function_name(&name, function) == CUDA_SUCCESS && name) {
    return demangled(name);
  }
  const auto kernel = reinterpret_cast<CUkernel>(function);
  if (ask_.kernel_name && ask_.kernel_name(&name, kernel) == CUDA_SUCCESS && name) {
    return demangled(name);
  }
  return {};
}

void Layouts::forget_places() {
  for (Place& place : places_) place.store(nullptr, std::memory_order_relaxed);
}

void Layouts::forget_all() {
  const Locked lock(mutex_);
  ++forgotten_;
  known_.clear();
  forget_places();
}

void Layouts::restart(bool whole) {
  if (!whole) {
    new (&known_) decltype(known_)();
    new (&layouts_) decltype(layouts_)();
    new (&names_) decltype(names_)();
  }
  known_.clear();
  forget_places();
}

}  // namespace cuvmm::shim
