// SPDX-License-Identifier: Apache-2.0
// One jump for each public driver symbol, through cuvmm_slots. A slot first leads to a lazy entry,
// which asks cuvmm_resolve_slot(index) (slots.cc) for the target and writes it into the slot; then
// the call goes on with every argument register as the caller left it. No frame stays on the stack:
// the callee sees the program's own return address.

#define CUVMM_DRIVER_SYMBOL(index, name) cuvmm_stub index, name
#define CUVMM_LAZY_ENTRY(index, name) cuvmm_lazy_entry index
#define CUVMM_SLOT(index, name) cuvmm_slot index
#define CUVMM_STUB_PLACE(index, name) cuvmm_stub_place name

#if defined(__x86_64__)

.macro cuvmm_stub index, name
  .globl \name
  .type \name, %function
  .p2align 4
\name:
  .cfi_startproc
  endbr64
  jmp *(cuvmm_slots + 8 * \index)(%rip)
  .cfi_endproc
  .size \name, . - \name
.endm

.macro cuvmm_lazy_entry index
cuvmm_lazy_\index:
  .cfi_startproc
  endbr64
  movl $\index, %r11d
  jmp cuvmm_lazy_common
  .cfi_endproc
.endm

.macro cuvmm_slot index
  .quad cuvmm_lazy_\index
.endm

.macro cuvmm_stub_place name
  .quad \name
.endm

  .text
  .type cuvmm_lazy_common, %function
cuvmm_lazy_common:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $192, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movq %r10, 56(%rsp)
  movaps %xmm0, 64(%rsp)
  movaps %xmm1, 80(%rsp)
  movaps %xmm2, 96(%rsp)
  movaps %xmm3, 112(%rsp)
  movaps %xmm4, 128(%rsp)
  movaps %xmm5, 144(%rsp)
  movaps %xmm6, 160(%rsp)
  movaps %xmm7, 176(%rsp)
  movl %r11d, %edi
  call cuvmm_resolve_slot
  movq %rax, %r11
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movq 48(%rsp), %rax
  movq 56(%rsp), %r10
  movaps 64(%rsp), %xmm0
  movaps 80(%rsp), %xmm1
  movaps 96(%rsp), %xmm2
  movaps 112(%rsp), %xmm3
  movaps 128(%rsp), %xmm4
  movaps 144(%rsp), %xmm5
  movaps 160(%rsp), %xmm6
  movaps 176(%rsp), %xmm7
  leave
  .cfi_def_cfa %rsp, 8
  jmp *%r11
  .cfi_endproc
  .size cuvmm_lazy_common, . - cuvmm_lazy_common

#elif defined(__aarch64__)

.macro cuvmm_stub index, name
  .globl \name
  .type \name, %function
  .p2align 4
\name:
  .cfi_startproc
  hint #34  // bti c
  adrp x16, cuvmm_slots + 8 * \index
  ldr x16, [x16, :lo12:(cuvmm_slots + 8 * \index)]
  br x16
  .cfi_endproc
  .size \name, . - \name
.endm

.macro cuvmm_lazy_entry index
cuvmm_lazy_\index:
  .cfi_startproc
  hint #34
  mov w17, #\index
  b cuvmm_lazy_common
  .cfi_endproc
.endm

.macro cuvmm_slot index
  .xword cuvmm_lazy_\index
.endm

.macro cuvmm_stub_place name
  .xword \name
.endm

  .text
  .type cuvmm_lazy_common, %function
cuvmm_lazy_common:
  .cfi_startproc
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset 29, -224
  .cfi_offset 30, -216
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov w0, w17
  bl cuvmm_resolve_slot
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
  .size cuvmm_lazy_common, . - cuvmm_lazy_common

#else
#error "cuvmm's shim knows x86-64 and aarch64"
#endif

#include "shim/driver_symbols.inc"

#undef CUVMM_DRIVER_SYMBOL
#define CUVMM_DRIVER_SYMBOL CUVMM_LAZY_ENTRY
#include "shim/driver_symbols.inc"

  .data
  .p2align 6
  .globl cuvmm_slots
  .hidden cuvmm_slots
  .type cuvmm_slots, %object
cuvmm_slots:
#undef CUVMM_DRIVER_SYMBOL
#define CUVMM_DRIVER_SYMBOL CUVMM_SLOT
#include "shim/driver_symbols.inc"
  .size cuvmm_slots, . - cuvmm_slots

  .section .data.rel.ro, "aw"
  .p2align 3
  .globl cuvmm_stubs
  .hidden cuvmm_stubs
  .type cuvmm_stubs, %object
cuvmm_stubs:
#undef CUVMM_DRIVER_SYMBOL
#define CUVMM_DRIVER_SYMBOL CUVMM_STUB_PLACE
#include "shim/driver_symbols.inc"
  .size cuvmm_stubs, . - cuvmm_stubs

  .section .note.GNU-stack, "", %progbits
