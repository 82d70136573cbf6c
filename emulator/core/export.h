// SPDX-License-Identifier: Apache-2.0
// How the emulator defines a symbol of libcuda.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <tuple>

#include "emulator/core/log.h"

namespace cuvmm::emulator::detail {

template <class Function>
struct Signature;
template <class... Parameters>
struct Signature<CUresult(Parameters...)> {
  template <std::size_t index>
  using Parameter = std::tuple_element_t<index, std::tuple<Parameters...>>;
};

}  // namespace cuvmm::emulator::detail

// Declares a parameter of a function by its number: the type, and a name.
#define CUVMM_TAKES(f, i) \
  ::cuvmm::emulator::detail::Signature<decltype(f)>::template Parameter<i> a##i
#define CUVMM_TAKES_1(f) CUVMM_TAKES(f, 0)
#define CUVMM_TAKES_2(f) CUVMM_TAKES_1(f), CUVMM_TAKES(f, 1)
#define CUVMM_TAKES_3(f) CUVMM_TAKES_2(f), CUVMM_TAKES(f, 2)
#define CUVMM_TAKES_4(f) CUVMM_TAKES_3(f), CUVMM_TAKES(f, 3)
#define CUVMM_TAKES_5(f) CUVMM_TAKES_4(f), CUVMM_TAKES(f, 4)
#define CUVMM_TAKES_6(f) CUVMM_TAKES_5(f), CUVMM_TAKES(f, 5)
#define CUVMM_TAKES_7(f) CUVMM_TAKES_6(f), CUVMM_TAKES(f, 6)
#define CUVMM_TAKES_8(f) CUVMM_TAKES_7(f), CUVMM_TAKES(f, 7)
#define CUVMM_TAKES_9(f) CUVMM_TAKES_8(f), CUVMM_TAKES(f, 8)
#define CUVMM_TAKES_10(f) CUVMM_TAKES_9(f), CUVMM_TAKES(f, 9)
#define CUVMM_GIVES_1 a0
#define CUVMM_GIVES_2 CUVMM_GIVES_1, a1
#define CUVMM_GIVES_3 CUVMM_GIVES_2, a2
#define CUVMM_GIVES_4 CUVMM_GIVES_3, a3
#define CUVMM_GIVES_5 CUVMM_GIVES_4, a4
#define CUVMM_GIVES_6 CUVMM_GIVES_5, a5
#define CUVMM_GIVES_7 CUVMM_GIVES_6, a6
#define CUVMM_GIVES_8 CUVMM_GIVES_7, a7
#define CUVMM_GIVES_9 CUVMM_GIVES_8, a8
#define CUVMM_GIVES_10 CUVMM_GIVES_9, a9
#define CUVMM_JOINED_(a, b) a##b
#define CUVMM_JOINED(a, b) CUVMM_JOINED_(a, b)
#define CUVMM_TENTH_(a, b, c, d, e, f, g, h, i, j, count, ...) count
#define CUVMM_HOW_MANY(...) CUVMM_TENTH_(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

/// CUVMM_DRIVER_FUNCTION(cuFoo, int* out, ...) { body }: the exported function cuFoo, with one to
/// ten parameters. A call that the body refuses is logged. The C++ name differs from the symbol,
/// because <cuda.h> declares and #defines many of the symbols in its own ways.
#define CUVMM_DRIVER_FUNCTION(symbol, ...)                                                  \
  static CUresult answer_##symbol(__VA_ARGS__);                                             \
  extern "C" __attribute__((visibility("default")))                                         \
  CUresult emulated_##symbol(__VA_ARGS__) __asm__(#symbol);                                 \
  extern "C" CUresult emulated_##symbol(                                                    \
      CUVMM_JOINED(CUVMM_TAKES_, CUVMM_HOW_MANY(__VA_ARGS__))(answer_##symbol)) {           \
    return ::cuvmm::emulator::logged(                                                       \
        #symbol, answer_##symbol(CUVMM_JOINED(CUVMM_GIVES_, CUVMM_HOW_MANY(__VA_ARGS__)))); \
  }                                                                                         \
  static CUresult answer_##symbol([[maybe_unused]] __VA_ARGS__)

/// Exports a second name for a function defined in the same file.
#define CUVMM_DRIVER_ALIAS(symbol, target)                                  \
  extern "C" decltype(emulated_##target) emulated_##symbol __asm__(#symbol) \
      __attribute__((visibility("default"), alias(#target)))
