// SPDX-License-Identifier: Apache-2.0
// What expendable children do with a libcuda: each function runs in a process of its own, and says
// what it learns. One granule per device, given back at once; no context unless a call needs one.
// No multicast and no managed memory.
#pragma once

#include <cuda.h>

#include <string>

#include "tools/doctor/children.h"

namespace cuvmm::doctor {

/// Facts: load_error; path, emulated, init, version; count,
/// device.N.{name,uuid,memory,compute-mode,
/// vmm,posix,fabric,dma-buf,multicast,granularity,recommended,peers}, reserved (bytes), reserve
/// (the code that ended it), descriptors (that a started driver holds).
void ask_driver(const std::string& driver, const Reporter& say);

/// Facts: load_error or init; count; device.N (a code) with device.N.call (what answered it);
/// peer.N.M and peer.N.M.call of pairs that can reach each other.
void try_mapping(const std::string& driver, const Reporter& say);

/// The same keys.
void try_dma_buf(const std::string& driver, const Reporter& say);

/// Both ends of one trial of a handle type, over a connected socket of kind SOCK_SEQPACKET. Facts
/// of each: load_error or init; device.N and device.N.call.
void try_export(const std::string& driver, CUmemAllocationHandleType type, int socket,
                const Reporter& say);
void try_import(const std::string& driver, CUmemAllocationHandleType type, int socket,
                const Reporter& say);

}  // namespace cuvmm::doctor
