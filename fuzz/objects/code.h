// SPDX-License-Identifier: Apache-2.0
// The device code that programs load, good and bad.
#pragma once

#include <cuda.h>

#include <array>
#include <string_view>

namespace cuvmm::fuzz::objects {

/// A text of PTX and its mistakes. An H100 (driver 580.159.04) gave the answers to texts with these
/// mistakes.
struct Text {
  const char* ptx;
  CUresult as_module = CUDA_SUCCESS;
  bool put = false, bump = false;      ///< its kernels
  bool counter = false, blob = false;  ///< its variables
  unsigned added = 0;                  ///< what `put` adds to the value that it stores
};

// `put` stores a word; `bump` adds 1 to the first word of `counter`.
#define CUVMM_PTX_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define CUVMM_PTX_PUT(added)                                   \
  ".visible .entry put(.param .u64 to, .param .u32 value) {\n" \
  ".reg .b64 %d<3>; .reg .b32 %r<3>;\n"                        \
  "ld.param.u64 %d1, [to]; cvta.to.global.u64 %d2, %d1;\n"     \
  "ld.param.u32 %r1, [value]; add.u32 %r2, %r1, " added        \
  ";\n"                                                        \
  "st.global.u32 [%d2], %r2; ret; }\n"
#define CUVMM_PTX_COUNTER ".visible .global .align 4 .u32 counter[4] = {1, 2, 3, 4};\n"
#define CUVMM_PTX_BUMP                                   \
  ".visible .entry bump() {\n.reg .b32 %r<3>;\n"         \
  "ld.global.u32 %r1, [counter]; add.u32 %r2, %r1, 1;\n" \
  "st.global.u32 [counter], %r2; ret; }\n"

inline constexpr Text kTexts[] = {
    {CUVMM_PTX_HEAD CUVMM_PTX_COUNTER CUVMM_PTX_PUT("0") CUVMM_PTX_BUMP, CUDA_SUCCESS, true, true,
     true, false, 0},
    {CUVMM_PTX_HEAD ".visible .global .align 8 .b8 blob[16];\n" CUVMM_PTX_PUT("1"), CUDA_SUCCESS,
     true, false, false, true, 1},
    {CUVMM_PTX_HEAD CUVMM_PTX_COUNTER ".visible .global .align 8 .b8 blob[16];\n" CUVMM_PTX_BUMP,
     CUDA_SUCCESS, false, true, true, true, 0},
    {CUVMM_PTX_HEAD},
    // A missing comma; no end; an entry twice; no such register; no such label.
    {CUVMM_PTX_HEAD ".visible .entry put() { .reg .b32 %r<2>; add.u32 %r0, %r1 ret; }",
     CUDA_ERROR_INVALID_PTX},
    {CUVMM_PTX_HEAD ".visible .entry put() { ret;", CUDA_ERROR_INVALID_PTX},
    {CUVMM_PTX_HEAD CUVMM_PTX_PUT("0") CUVMM_PTX_PUT("0"), CUDA_ERROR_INVALID_PTX},
    {CUVMM_PTX_HEAD ".visible .entry put() { mov.u32 %r9, 1; ret; }", CUDA_ERROR_INVALID_PTX},
    {CUVMM_PTX_HEAD ".visible .entry put() { bra NOWHERE; ret; }", CUDA_ERROR_INVALID_PTX},
    {".version 99.0\n.target sm_80\n.address_size 64\n" CUVMM_PTX_PUT("0"),
     CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
    {".version 8.0\n.target sm_999\n.address_size 64\n" CUVMM_PTX_PUT("0"), CUDA_ERROR_INVALID_PTX},
    // No text of code at all.
    {CUVMM_PTX_PUT("0"), CUDA_ERROR_INVALID_IMAGE},
    {"this is no ptx at all", CUDA_ERROR_INVALID_IMAGE},
    {"", CUDA_ERROR_INVALID_IMAGE}};
#undef CUVMM_PTX_HEAD
#undef CUVMM_PTX_PUT
#undef CUVMM_PTX_COUNTER
#undef CUVMM_PTX_BUMP

/// The names that are asked for: no text has the third, and the last one is empty.
inline constexpr std::array<const char*, 4> kKernels = {"put", "bump", "nosuch", ""};
inline constexpr std::array<const char*, 4> kVariables = {"counter", "blob", "nosuch", ""};
inline constexpr unsigned kVariableBytes = 16;  ///< of each variable

constexpr bool has_kernel(const Text& text, unsigned name) {
  return name == 0 ? text.put : name == 1 && text.bump;
}
constexpr bool has_variable(const Text& text, unsigned name) {
  return name == 0 ? text.counter : name == 1 && text.blob;
}

}  // namespace cuvmm::fuzz::objects
