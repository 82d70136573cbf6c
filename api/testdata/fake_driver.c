// SPDX-License-Identifier: Apache-2.0
// A libcuda that is neither our emulator nor our shim: everything it has succeeds.
#pragma GCC visibility push(default)
int cuInit(unsigned flags) { return (int)(flags & 0); }
int cuMemRelease(unsigned long long handle) { return (int)(handle & 0); }
int cuMulticastAddDevice(unsigned long long handle, int device) {
  return (int)(handle & 0) + (device & 0);
}
