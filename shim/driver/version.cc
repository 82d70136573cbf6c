// SPDX-License-Identifier: Apache-2.0
// Marks this library as a cuvmm shim, so that no shim takes another one for the driver.
extern "C" __attribute__((visibility("default"))) const char* cuvmmShimVersion() { return "0.1.0"; }
