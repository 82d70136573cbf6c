/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with the names and the forms of those in a static libcudart: one that begins with a
   branch mark, short ones, two names of one function, a name that no other libcudart has. None may
   be entered: each stops the process. IMITATION is the CUDA version whose names are there. */
        .text
        .p2align 4
        .type   libcudart_static_1, @function
libcudart_static_1:
        ud2
        .size   libcudart_static_1, . - libcudart_static_1

        .macro  function name
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .endm
        .macro  long_function name
        function \name
        ud2
        .fill   60, 1, 0x90
        ud2
        .size   \name, . - \name
        .endm

        long_function cudaGetDeviceCount
        function cudaRuntimeGetVersion          /* a branch mark */
        .byte   0xf3, 0x0f, 0x1e, 0xfa
        ud2
        .fill   40, 1, 0x90
        .size   cudaRuntimeGetVersion, . - cudaRuntimeGetVersion
        function cudaGetLastError               /* 3 bytes and padding */
        xorl    %eax, %eax
        ret
        .size   cudaGetLastError, . - cudaGetLastError
        .p2align 4
        function cudaPeekAtLastError            /* 5 bytes, then a function without alignment */
        movl    $77, %eax
        .size   cudaPeekAtLastError, . - cudaPeekAtLastError
        .globl  cudaDeviceSynchronize
        .hidden cudaDeviceSynchronize
        .type   cudaDeviceSynchronize, @function
cudaDeviceSynchronize:
        ud2
        .fill   4, 1, 0x90
        ud2
        .size   cudaDeviceSynchronize, . - cudaDeviceSynchronize
        long_function cudaMalloc
        long_function cudaFree
        .globl  cudaFreeHost                    /* a second name, as linkers that fold code leave it */
        .hidden cudaFreeHost
        .set    cudaFreeHost, cudaFree
        .type   cudaFreeHost, @function
        long_function cudaOfTomorrow
        long_function cudaGetErrorName
        long_function __cudaRegisterFatBinary
        long_function __cudaUnregisterFatBinary
        function __cudaRegisterLinkedBinary_12ab_6_own_cu /* the program's own: it stays */
        movl    $78, %eax
        ret
        .fill   60, 1, 0x90
        .size   __cudaRegisterLinkedBinary_12ab_6_own_cu, . - __cudaRegisterLinkedBinary_12ab_6_own_cu
        .if     IMITATION == 12
        long_function cudaGetDeviceProperties_v2
        long_function cudaThreadSynchronize
        .endif
        .if     IMITATION == 11
        long_function cudaThreadSynchronize
        .endif
        .if     IMITATION == 13
        long_function cudaLogsCurrent
        long_function __cudaGetProcAddress
        .endif

        .section .note.GNU-stack, "", @progbits
