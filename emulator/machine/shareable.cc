// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/shareable.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>
#include <limits>

#include "api/location.h"
#include "api/posix/cancel_off.h"
#include "api/sizes.h"
#include "emulator/base/device_identity.h"
#include "emulator/base/system.h"

namespace cuvmm::emulator {

namespace {

constexpr std::uint64_t kTrailerPage = kPage;
constexpr char kMagic[16] = "cuvmm-shareable";
constexpr std::uint32_t kVersion = 2;
// Neither the size nor the seals may change under a mapping (SIGBUS); the data stays writable.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kSealFutureWrite = 0x10;  // F_SEAL_FUTURE_WRITE, which older headers lack

// Fixed widths: exporter and importer may be built against different CUDA headers.
struct Trailer {
  char magic[16];
  std::uint32_t version;
  std::int32_t location_type;
  std::int32_t location_id;
  std::uint8_t compression;
  std::uint8_t rdma;
  std::uint16_t usage;
  std::uint64_t size;
  std::uint64_t host;
};
static_assert(sizeof(Trailer) == 48);

constexpr std::uint32_t version_of(ShareableKind kind) {
  return kVersion | static_cast<std::uint32_t>(kind) << 16;
}

// Memory of a device that this process does not see can still be used, since CUDA 10.1 (NCCL,
// p2pCanConnect); it counts as memory of this process's first device.
int own_device(int of_machine) {
  const int own = g_visible.own(of_machine);
  const bool hidden = own < 0 && of_machine >= 0 && of_machine < VisibleDevices::kMost;
  return hidden ? 0 : own;
}

// A copy of `place` on another device; places on the host ignore `device`.
CUmemLocation renumbered(const CUmemLocation& place, int device) {
  if (!is_device(place)) return place;
  if (is_domain(place)) return domain_location(device, locality_domain(place).domain);
  return make_location(static_cast<int>(place.type), device);
}

}  // namespace

bool is_fixed_memfd(int fd) {
  const int seals = fcntl(fd, F_GET_SEALS);  // fails for everything that is not a memfd
  // A seal against future writes prevents new writable mappings.
  if (seals < 0 || (seals & kSeals) != kSeals || (seals & (F_SEAL_WRITE | kSealFutureWrite))) {
    return false;
  }
  const int mode = fcntl(fd, F_GETFL);
  struct statfs system;
  return mode >= 0 && (mode & O_ACCMODE) == O_RDWR && fstatfs(fd, &system) == 0 &&
         system.f_type == TMPFS_MAGIC;
}

int create_shareable(std::uint64_t size, const CUmemAllocationProp& prop, ShareableKind kind) {
  if (size > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - kTrailerPage) {
    return -1;
  }
  const int fd = memfd_create("cuvmm-allocation", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  Trailer trailer{};
  std::memcpy(trailer.magic, kMagic, sizeof kMagic);
  trailer.version = version_of(kind);
  trailer.location_type = static_cast<std::int32_t>(prop.location.type);
  trailer.location_id =
      renumbered(prop.location, g_visible.of_machine(device_of(prop.location))).id;
  trailer.compression = prop.allocFlags.compressionType;
  trailer.rdma = prop.allocFlags.gpuDirectRDMACapable;
  trailer.usage = prop.allocFlags.usage;
  trailer.size = size;
  trailer.host = static_cast<std::uint64_t>(g_visible.host());
  const CancelOff no_cancel;
  // sys_resize() has checked RLIMIT_FSIZE for the whole file, so the write needs no check.
  if (!sys_resize(fd, size + kTrailerPage) ||
      pwrite(fd, &trailer, sizeof trailer, static_cast<off_t>(size)) !=
          static_cast<ssize_t>(sizeof trailer) ||
      fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    sys_close(fd);
    return -1;
  }
  return fd;
}

std::optional<Shareable> read_shareable(int fd, int device_count, ShareableKind kind, Hosts hosts) {
  if (!is_fixed_memfd(fd)) return std::nullopt;
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_size < static_cast<off_t>(kPage + kTrailerPage)) return std::nullopt;
  const std::uint64_t size = static_cast<std::uint64_t>(status.st_size) - kTrailerPage;
  Trailer trailer;
  if (sys_pread(fd, &trailer, sizeof trailer, size) != static_cast<ssize_t>(sizeof trailer)) {
    return std::nullopt;
  }
  if (std::memcmp(trailer.magic, kMagic, sizeof kMagic) != 0 ||
      trailer.version != version_of(kind) || trailer.size != size || size % kPage != 0) {
    return std::nullopt;
  }
  const bool own_host = trailer.host == static_cast<std::uint64_t>(g_visible.host());
  if (hosts == Hosts::kOwn && !own_host) return std::nullopt;
  CUmemLocation place = make_location(trailer.location_type, trailer.location_id);
  const bool device = is_device(place);
  place = renumbered(place, own_device(device_of(place)));
  // HOST memory is never exported.
  if (!device && trailer.location_type != CU_MEM_LOCATION_TYPE_HOST_NUMA) return std::nullopt;
  if (trailer.location_id < 0 || place.id < 0 || (device && device_of(place) >= device_count)) {
    return std::nullopt;
  }
  Shareable shareable;
  shareable.size = size;
  shareable.own_host = own_host;
  shareable.prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  shareable.prop.location = place;
  shareable.prop.allocFlags.compressionType = trailer.compression;
  shareable.prop.allocFlags.gpuDirectRDMACapable = trailer.rdma;
  shareable.prop.allocFlags.usage = trailer.usage;
  return shareable;
}

}  // namespace cuvmm::emulator
