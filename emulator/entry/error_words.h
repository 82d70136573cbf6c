// SPDX-License-Identifier: Apache-2.0
// The words in which drivers describe an error, where clients' tests compare them. Recorded on an
// H200's driver 580.159.04; a code that the list lacks is described by the words of its name.
#pragma once

namespace cuvmm::emulator {

struct ErrorWords {
  int code;
  const char* words;
};

inline constexpr ErrorWords kErrorWords[] = {
    {0, "no error"},
    {1, "invalid argument"},
    {2, "out of memory"},
    {3, "initialization error"},
    {4, "driver shutting down"},
    {7, "profiler already started"},
    {8, "profiler already stopped"},
    {34, "CUDA driver is a stub library"},
    {100, "no CUDA-capable device is detected"},
    {101, "invalid device ordinal"},
    {102, "device doesn't have valid Grid license"},
    {200, "device kernel image is invalid"},
    {201, "invalid device context"},
    {202, "context already current"},
    {205, "mapping of buffer object failed"},
    {206, "unmapping of buffer object failed"},
    {207, "array is mapped"},
    {208, "resource already mapped"},
    {210, "resource already acquired"},
    {211, "resource not mapped"},
    {212, "resource not mapped as array"},
    {213, "resource not mapped as pointer"},
    {214, "uncorrectable ECC error encountered"},
    {215, "limit is not supported on this architecture"},
    {218, "a PTX JIT compilation failed"},
    {219, "invalid OpenGL or DirectX context"},
    {221, "PTX JIT compiler library not found"},
    {223, "PTX JIT compilation was disabled"},
    {224, "the provided execution affinity is not supported"},
    {300, "device kernel image is invalid"},
    {301, "file not found"},
    {302, "shared object symbol not found"},
    {303, "shared object initialization failed"},
    {400, "invalid resource handle"},
    {500, "named symbol not found"},
    {600, "device not ready"},
    {700, "an illegal memory access was encountered"},
    {701, "too many resources requested for launch"},
    {702, "the launch timed out and was terminated"},
    {703, "launch uses incompatible texturing mode"},
    {704, "peer access is already enabled"},
    {705, "peer access has not been enabled"},
    {709, "context is destroyed"},
    {710, "device-side assert triggered"},
    {711, "peer mapping resources exhausted"},
    {714, "hardware stack error"},
    {715, "an illegal instruction was encountered"},
    {716, "misaligned address"},
    {718, "invalid program counter"},
    {719, "unspecified launch failure"},
    {720, "too many blocks in cooperative launch"},
    {721, "tensor memory not completely freed"},
    {800, "operation not permitted"},
    {801, "operation not supported"},
    {802, "system not yet initialized"},
    {810, "the MPS client has been terminated by the server"},
    {900, "operation not permitted when stream is capturing"},
    {904, "capturing stream has unjoined work"},
    {909, "wait operation timed out"},
    {999, "unknown error"},
};

}  // namespace cuvmm::emulator
