// SPDX-License-Identifier: Apache-2.0
// A library that keeps memory and frees it in a destructor of its own.
#pragma once

#include <cuda.h>

#include <cstddef>

extern "C" void keep_until_the_end(CUdeviceptr mapped, std::size_t size, CUdeviceptr plain);
