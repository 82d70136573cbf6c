// SPDX-License-Identifier: Apache-2.0
#include "shim/work/layouts.h"

#include <cxxabi.h>
#include <stdlib.h>

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

std::shared_ptr<const Layout> Layouts::of(CUfunction function) {
  {
    const Locked lock(mutex_);
    const auto found = known_.find(function);
    if (found != known_.end()) [[likely]]
      return found->second;
  }
  Layout layout = ask(function);
  std::string name = layout.hidden ? std::string() : name_of(function);
  const Locked lock(mutex_);
  if (!name.empty()) layout.function = &*names_.insert(std::move(name)).first;
  auto& place = known_[function];
  if (!place) place = std::make_shared<const Layout>(std::move(layout));
  return place;
}

Layout Layouts::ask(CUfunction function) const {
  Layout layout;
  const auto kernel = reinterpret_cast<CUkernel>(function);
  layout.hidden = !read_layout(ask_.function_parameter, function, layout.parameters) &&
                  !read_layout(ask_.kernel_parameter, kernel, layout.parameters);
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

void Layouts::forget_all() {
  Known old;
  const Locked lock(mutex_);
  old.swap(known_);
}

void Layouts::restart(bool whole) {
  if (!whole) {
    new (&known_) Known();
    new (&names_) std::set<std::string>();
  }
  known_.clear();
}

}  // namespace cuvmm::shim
