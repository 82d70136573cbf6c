// SPDX-License-Identifier: Apache-2.0
// A program of the runtime API: it knows no libcuda, only its runtime library.
#include "shim/testing/misuse.h"

extern "C" void* standInEntryPoint(const char* name, int version);

int main() { misuse(reinterpret_cast<MapFunction>(standInEntryPoint("cuMemMap", 10020))); }
