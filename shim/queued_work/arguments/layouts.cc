// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/arguments/layouts.h"

#include <cxxabi.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <new>
#include <utility>

#include "api/posix/cancel_off.h"
#include "shim/queued_work/arguments/ptx_parameters.h"
#include "shim/queued_work/arguments/tensor_maps.h"

namespace cuvmm::shim {

namespace {

// More parameters than a kernel can have, because they take 32 KiB at most.
constexpr std::size_t kMostParameters = 4096;
constexpr std::uint32_t kWord = sizeof(std::uint64_t);

// Only mangled names are demangled: the demangler would take the plain name "f" for the type float.
bool is_mangled(const char* name) { return name[0] == '_' && name[1] == 'Z'; }

std::string demangled(const char* name) {
  if (!is_mangled(name)) return name;
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
    // The index is one past the last parameter.
    if (answer == CUDA_ERROR_INVALID_VALUE) return true;
    if (answer != CUDA_SUCCESS) break;
    out.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size),
                   static_cast<std::int16_t>(i)});
  }
  out.clear();
  return false;
}

bool is_word(const Layout::Parameter& parameter) {
  return parameter.size == kWord && parameter.offset % kWord == 0;
}

using Types = std::vector<ParameterType>;

bool fits(const ParameterType& type, const Layout::Parameter& parameter) {
  return type.size == parameter.size && parameter.offset % kWord == 0;
}

// A name with types either gives the type of each parameter, or is not understood: then no
// parameter is graded.
void grade_by_name(std::vector<Layout::Parameter>& parameters, const char* name) {
  if (!is_mangled(name)) {
    for (Layout::Parameter& each : parameters) {
      if (is_word(each)) each.evidence = Evidence::kByValue;
    }
    return;
  }
  const auto types = types_of_name(demangled(name));
  if (!types || types->size() != parameters.size()) return;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!fits((*types)[i], parameters[i])) continue;
    parameters[i].evidence = (*types)[i].evidence;
    parameters[i].reads = (*types)[i].reads;
  }
}

// PTX says which parameters are pointers. For parameters that PTX leaves open, the types of the
// name stay.
void grade_by_ptx(std::vector<Layout::Parameter>& parameters, const Types& types, bool named) {
  if (types.size() != parameters.size()) return;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterType& type = types[i];
    if (!fits(type, parameters[i])) continue;
    if (type.evidence == Evidence::kByType || !named) parameters[i].evidence = type.evidence;
  }
}

// Files that begin like PTX are read up to this size, in bytes.
constexpr std::size_t kLargestFile = std::size_t{64} << 20;

std::string text_of_file(const char* name) {
  std::ifstream file(name, std::ios::binary);
  char begin[64] = {};
  file.read(begin, sizeof begin - 1);
  if (ptx_of_image(begin).empty()) return {};
  std::string text(begin, static_cast<std::size_t>(file.gcount()));
  char more[4096];
  while (text.size() < kLargestFile && (file.read(more, sizeof more), file.gcount() > 0)) {
    text.append(more, static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

bool may_hold_something(const Layout::Parameter& parameter, bool hints) {
  if (parameter.evidence != Evidence::kWord) return true;
  return parameter.size >= TensorMaps::kBytes || (hints && parameter.size >= kWord);
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
  const CancelOff no_cancel;
  const char* const raw = name_of(function);
  Layout layout = ask(function, raw);
  std::string name = layout.hidden || !raw ? std::string() : demangled(raw);
  const Locked lock(mutex_);
  if (!name.empty()) layout.function = &*names_.insert(std::move(name)).first;
  const Layout& stored = *layouts_.insert(std::move(layout)).first;
  // If another thread forgot all layouts while this thread asked the driver, the layout is an
  // answer for this call only.
  if (forgotten == forgotten_) {
    known_[function] = &stored;
    place_of(function).store(&stored, std::memory_order_release);
  }
  return stored;
}

void Layouts::learn(const void* code, std::string_view ptx) {
  Kernels kernels;
  for (auto& [name, types] : kernels_of_ptx(ptx)) kernels.emplace(name, std::move(types));
  const Locked lock(mutex_);
  ptx_.erase(code);
  if (!kernels.empty() && ptx_.size() < kMostModules) ptx_.emplace(code, std::move(kernels));
}

void Layouts::learn_file(const void* code, const char* name) {
  learn(code, name ? text_of_file(name) : std::string());
}

std::vector<ParameterType> Layouts::ptx_types(CUfunction function, const char* name) {
  {
    const Locked lock(mutex_);
    if (ptx_.empty()) return {};
  }
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  const auto kernel = reinterpret_cast<CUkernel>(function);
  const void* code = nullptr;
  if (ask_.function_module && ask_.function_module(&module, function) == CUDA_SUCCESS) {
    code = module;
  } else if (ask_.kernel_library && ask_.kernel_library(&library, kernel) == CUDA_SUCCESS) {
    code = library;
  }
  const Locked lock(mutex_);
  const auto known = ptx_.find(code);
  if (known == ptx_.end()) return {};
  const auto types = known->second.find(name);
  return types == known->second.end() ? std::vector<ParameterType>() : types->second;
}

void Layouts::grade(std::vector<Layout::Parameter>& parameters, CUfunction function,
                    const char* name) {
  if (!name) return;
  grade_by_name(parameters, name);
  grade_by_ptx(parameters, ptx_types(function, name), is_mangled(name));
}

Layout Layouts::ask(CUfunction function, const char* name) {
  Layout layout;
  layout.handle = function;
  layout.hints = hints_;
  const auto kernel = reinterpret_cast<CUkernel>(function);
  layout.hidden = !read_layout(ask_.function_parameter, function, layout.parameters) &&
                  !read_layout(ask_.kernel_parameter, kernel, layout.parameters);
  grade(layout.parameters, function, name);
  layout.structs = layout.hidden || std::ranges::any_of(layout.parameters, [](const auto& each) {
                     return each.evidence == Evidence::kWord && each.size > kWord;
                   });
  std::ranges::copy_if(layout.parameters, std::back_inserter(layout.others), [&](const auto& each) {
    return each.size >= kWord && !may_hold_something(each, hints_);
  });
  std::erase_if(layout.parameters,
                [&](const auto& each) { return !may_hold_something(each, hints_); });
  const bool words = !layout.hidden && std::ranges::all_of(layout.parameters, [](const auto& each) {
    return is_word(each) && each.evidence != Evidence::kWord;
  });
  for (const Layout::Parameter& each : layout.parameters) {
    if (!words) break;
    layout.words.push_back({static_cast<std::uint16_t>(each.index), each.evidence});
  }
  return layout;
}

const char* Layouts::name_of(CUfunction function) const {
  const char* name = nullptr;
  if (ask_.function_name && ask_.function_name(&name, function) == CUDA_SUCCESS && name) {
    return name;
  }
  const auto kernel = reinterpret_cast<CUkernel>(function);
  if (ask_.kernel_name && ask_.kernel_name(&name, kernel) == CUDA_SUCCESS && name) return name;
  return nullptr;
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
  empty(whole, known_);
  if (!whole) {
    new (&layouts_) decltype(layouts_)();
    new (&names_) decltype(names_)();
    new (&ptx_) decltype(ptx_)();
  }
  forget_places();
}

}  // namespace cuvmm::shim
