// SPDX-License-Identifier: Apache-2.0
// Trials of a libcuda. Each function runs in a child process of its own, because the driver might
// crash or hang, and reports facts through `say`. A trial uses one granule per device and frees it
// at once; it makes a context only if a call needs one. No trial uses multicast or managed memory.
#pragma once

#include <cuda.h>

#include <string>

#include "tools/doctor/children.h"

namespace cuvmm::doctor {

/// Reports these facts: load_error; path, emulated, init, version; count,
/// device.N.{name,uuid,memory,compute-mode,
/// vmm,posix,fabric,dma-buf,multicast,granularity,recommended,peers}, reserved (bytes), reserve
/// (the code that ended it), descriptors (that a started driver holds).
void ask_driver(const std::string& driver, const Reporter& say);

/// Reports these facts: load_error or init; count; device.N (a code) with device.N.call (the call
/// that answered it); peer.N.M and peer.N.M.call of pairs of devices that can reach each other.
void try_mapping(const std::string& driver, const Reporter& say);

/// Reports load_error or init, count, device.N and device.N.call, as try_mapping() does.
void try_dma_buf(const std::string& driver, const Reporter& say);

/// The two ends of a trial of one handle type. Both use a connected socket of kind SOCK_SEQPACKET.
/// Each reports these facts: load_error or init; device.N and device.N.call.
void try_export(const std::string& driver, CUmemAllocationHandleType type, int socket,
                const Reporter& say);
void try_import(const std::string& driver, CUmemAllocationHandleType type, int socket,
                const Reporter& say);

}  // namespace cuvmm::doctor
