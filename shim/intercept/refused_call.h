// SPDX-License-Identifier: Apache-2.0
// Calls without a check of their own that the driver refused: notes them for the report, with the
// cause if it can be known.
#pragma once

#include <cuda.h>

#include <string>
#include <type_traits>

#include "api/calls.h"
#include "shim/base/caller.h"
#include "shim/refusals/code_facts.h"

namespace cuvmm::shim {

/// A refused question for a name in code.
struct NameInput {
  CUmodule module = nullptr;  ///< one of the two is null
  CUlibrary library = nullptr;
  const char* name = nullptr;
  bool kernel = false;  ///< the program asked for a kernel; else for a variable
};

/// Notes that the driver refused a call of the program. A call that the driver makes of its own
/// functions is not noted. Keeps errno.
[[gnu::cold, gnu::noinline]] void note_refused(const char* function, CUresult result,
                                               const Caller& direct) noexcept;
[[gnu::cold, gnu::noinline]] void note_refused(const char* function, CUresult result,
                                               const Caller& direct,
                                               const CodeInput& code) noexcept;
[[gnu::cold, gnu::noinline]] void note_refused(const char* function, CUresult result,
                                               const Caller& direct,
                                               const NameInput& name) noexcept;

/// `kernel`, `library`: their code may be the reason.
[[gnu::cold, gnu::noinline]] void note_refused(const char* function, CUresult result,
                                               const Caller& direct, CUkernel kernel) noexcept;
[[gnu::cold, gnu::noinline]] void note_refused(const char* function, CUresult result,
                                               const Caller& direct, CUlibrary library) noexcept;

/// `known`: the facts, a line each.
[[gnu::cold, gnu::noinline]] void note_refused_because(const char* function, CUresult result,
                                                       const Caller& direct,
                                                       const std::string& known) noexcept;

/// Whether the answer of a call may be worth a note: a query answers NOT_READY all the time.
inline bool is_refused(CUresult result) {
  return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
}

/// Notes a call by its struct.
template <class CallStruct>
void note_refused_call(const CallStruct& call, CUresult result, const Caller& direct) noexcept {
  const char* const function = name(CallStruct::kEntryPoint);
  if constexpr (requires { call.fname; }) {
    note_refused(function, result, direct, CodeInput{.path = call.fname});
  } else if constexpr (requires { call.fileName; }) {
    note_refused(function, result, direct, CodeInput{.path = call.fileName});
  } else if constexpr (requires { call.image; }) {
    note_refused(function, result, direct, CodeInput{.image = call.image});
  } else if constexpr (std::is_same_v<CallStruct, calls::LibraryLoadData>) {
    note_refused(function, result, direct, CodeInput{.image = call.code});
  } else {
    note_refused(function, result, direct);
  }
}

/// Notes a call by its arguments. The overloads know which of them are code or names.
template <class... Args>
void note_refused_arguments(const char* function, CUresult result, const Caller& direct, Args...) {
  note_refused(function, result, direct);
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUmodule*, const void* image) {
  note_refused(function, result, direct, CodeInput{.image = image});
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUlinkState, CUjitInputType, void* data, std::size_t size,
                                   const char*, unsigned, CUjit_option*, void**) {
  note_refused(function, result, direct, CodeInput{.image = data, .size = size});
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUlinkState, CUjitInputType, const char* path, unsigned,
                                   CUjit_option*, void**) {
  note_refused(function, result, direct, CodeInput{.path = path});
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUfunction*, CUmodule module, const char* name) {
  note_refused(function, result, direct, NameInput{.module = module, .name = name, .kernel = true});
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUfunction*, CUkernel kernel) {
  note_refused(function, result, direct, kernel);
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUmodule*, CUlibrary library) {
  note_refused(function, result, direct, library);
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUkernel*, CUlibrary library, const char* name) {
  note_refused(function, result, direct,
               NameInput{.library = library, .name = name, .kernel = true});
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUdeviceptr*, std::size_t*, CUmodule module, const char* name) {
  note_refused(function, result, direct, NameInput{.module = module, .name = name});
}
inline void note_refused_arguments(const char* function, CUresult result, const Caller& direct,
                                   CUdeviceptr*, std::size_t*, CUlibrary library,
                                   const char* name) {
  note_refused(function, result, direct, NameInput{.library = library, .name = name});
}

}  // namespace cuvmm::shim
