// SPDX-License-Identifier: Apache-2.0
// Kinds of memory locations as numbers, because older headers lack some of the enumerators; and the
// meaning of a location's id.
#pragma once

#include <cuda.h>

#include <cstring>

namespace cuvmm {

inline constexpr int kLocationNone = 0;  ///< managed memory that prefers no place
inline constexpr int kLocationDevice = 1;
inline constexpr int kLocationHost = 2;
inline constexpr int kLocationHostNuma = 3;
inline constexpr int kLocationHostNumaCurrent = 4;
inline constexpr int kLocationInvisible = 5;  ///< CUDA 13.2: on a device that this process lacks
inline constexpr int kLocationDomain = 6;     ///< CUDA 13.4: one locality domain of a device

inline constexpr int kDeviceInvalid = -2;  ///< the id of an invisible location
inline constexpr int kNoDevice = -1;

inline CUmemLocation make_location(int type, int id) {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(type);
  location.id = id;
  return location;
}

/// One locality domain: the place of its parts in the bytes of a location's id.
struct LocalityDomain {
  int device = 0;
  int domain = 0;
};

/// The domain of a location of type kLocationDomain. The other two bytes of the id mean nothing.
inline LocalityDomain locality_domain(const CUmemLocation& location) {
  unsigned char bytes[2];
  std::memcpy(bytes, &location.id, sizeof bytes);
  return {bytes[0], bytes[1]};
}

inline CUmemLocation domain_location(int device, int domain) {
  CUmemLocation location = make_location(kLocationDomain, 0);
  const unsigned char bytes[2] = {static_cast<unsigned char>(device),
                                  static_cast<unsigned char>(domain)};
  std::memcpy(&location.id, bytes, sizeof bytes);
  return location;
}

inline bool is_domain(const CUmemLocation& location) {
  return static_cast<int>(location.type) == kLocationDomain;
}

/// Whether memory lies on a device, or in one of its locality domains.
inline bool is_device(const CUmemLocation& location) {
  return static_cast<int>(location.type) == kLocationDevice || is_domain(location);
}

/// The device of a location for which is_device() holds, as the program wrote it; kNoDevice for any
/// other location.
inline int device_of(const CUmemLocation& location) {
  if (static_cast<int>(location.type) == kLocationDevice) [[likely]]
    return location.id;
  return is_domain(location) ? locality_domain(location).device : kNoDevice;
}

/// Whether memory lies on the host: HOST, HOST_NUMA.
inline bool is_host(const CUmemLocation& location) {
  const int type = static_cast<int>(location.type);
  return type == kLocationHost || type == kLocationHostNuma;
}

/// Whether two locations are the same place. Ignores an id that means nothing.
inline bool same_place(const CUmemLocation& a, const CUmemLocation& b) {
  const int type = static_cast<int>(a.type);
  if (a.type != b.type) return false;
  if (is_domain(a)) {
    const LocalityDomain one = locality_domain(a), other = locality_domain(b);
    return one.device == other.device && one.domain == other.domain;
  }
  return (type != kLocationDevice && type != kLocationHostNuma) || a.id == b.id;
}

}  // namespace cuvmm
