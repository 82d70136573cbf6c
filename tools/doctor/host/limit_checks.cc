// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/host/limit_checks.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace cuvmm::doctor {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

void read_limit(__rlimit_resource resource, std::uint64_t& soft, std::uint64_t& hard) {
  rlimit limit{};
  getrlimit(resource, &limit);
  soft = limit.rlim_cur == RLIM_INFINITY ? kUnlimited : limit.rlim_cur;
  hard = limit.rlim_max == RLIM_INFINITY ? kUnlimited : limit.rlim_max;
}

std::string count_text(std::uint64_t count) {
  return count == kUnlimited ? "unlimited" : std::to_string(count);
}

bool can_reserve(std::uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  munmap(at, bytes);
  return true;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  if (bytes == kUnlimited) return "unlimited";
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return value == static_cast<double>(static_cast<std::uint64_t>(value))
             ? fmt::format("{:.0f} {}", value, kUnits[unit])
             : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

FileLimit read_file_limit() {
  FileLimit limit;
  read_limit(RLIMIT_NOFILE, limit.soft, limit.hard);
  limit.open = Host().names("/proc/self/fd").size();
  return limit;
}

Check judge_files(const FileLimit& limit) {
  constexpr const char* kId = "nofile";
  constexpr const char* kSource =
      "getrlimit(2): RLIMIT_NOFILE; CUDA driver API: cuMemExportToShareableHandle";
  std::string detail = fmt::format("at most {} open files", count_text(limit.soft));
  if (limit.by_driver.value_or(0))
    detail += fmt::format("; a started driver holds {}", *limit.by_driver);
  if (limit.soft >= kUsualFiles) return works(kId, detail, kSource);
  detail += fmt::format(
      ". Each allocation that is shared by descriptor takes one in each process, and programs "
      "expect {}",
      kUsualFiles);
  const std::string fix =
      limit.hard >= kUsualFiles
          ? fmt::format("`ulimit -n {}` in the shell that starts the program",
                        count_text(limit.hard))
          : fmt::format(
                "the hard limit is {}, too: `docker run --ulimit nofile=65536`, "
                "LimitNOFILE= of the systemd unit, or /etc/security/limits.conf",
                count_text(limit.hard));
  return does_not(kId, detail, fix, kSource);
}

AddressSpace try_address_space(const Host& host) {
  AddressSpace space;
  read_limit(RLIMIT_AS, space.soft, space.hard);
  const std::string pages = host.read("/proc/self/statm").value_or("");
  space.used =
      std::strtoull(pages.c_str(), nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t kStep = 1 << 20;             // bytes; a finer answer helps nobody
  std::uint64_t low = 0, high = (1ull << 48) / kStep;  // the answer is in [low, high)
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    (can_reserve(middle * kStep) ? low : high) = middle;
  }
  space.largest = low * kStep;
  return space;
}

Check judge_address_space(const AddressSpace& space) {
  constexpr const char* kId = "address-space";
  const bool known = space.devices > 0;
  const std::uint64_t needed = std::max(kUsualReservation, space.devices);
  const std::string source =
      "getrlimit(2): RLIMIT_AS; field: ggml-org/llama.cpp#29142, pytorch/pytorch#192269";
  std::string detail = "one reservation may have up to " + bytes_text(space.largest);
  if (space.largest >= needed) return works(kId, detail, source);
  detail +=
      known ? fmt::format("; the devices have {} of memory, which a driver gives addresses",
                          bytes_text(space.devices))
            : fmt::format("; libraries reserve {} and more at once", bytes_text(kUsualReservation));
  if (space.soft == kUnlimited) {
    return does_not(kId, detail + ". RLIMIT_AS sets no limit: the rest is in use or in pieces",
                    "see /proc/PID/maps of the process for what takes it", source);
  }
  detail += fmt::format(". RLIMIT_AS is {}, of which {} are used", bytes_text(space.soft),
                        bytes_text(space.used));
  return does_not(
      kId, detail,
      space.hard == kUnlimited || space.hard / 2 >= needed
          ? "`ulimit -v unlimited` in the shell that starts the program"
          : fmt::format("the hard limit is {}, too: the user who started this session or "
                        "batch job can raise it (`ulimit -v`, LimitAS= of systemd)",
                        bytes_text(space.hard)),
      source);
}

Check check_shm(const Host& host) {
  constexpr const char* kId = "shm";
  constexpr const char* kSource = "NCCL user guide: Troubleshooting, shared memory";
  constexpr std::uint64_t kContainerDefault = 64 << 20;
  const std::string folder = host.path("/dev/shm");
  struct statvfs status {};
  if (statvfs(folder.c_str(), &status) != 0) {
    return does_not(kId, fmt::format("/dev/shm: {}", std::strerror(errno)),
                    "mount a tmpfs on /dev/shm", kSource);
  }
  std::string name = folder + "/cuvmm-doctor-XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd < 0) {
    return does_not(kId, fmt::format("/dev/shm: no file can be made: {}", std::strerror(errno)),
                    "mount it writable for this user (mode 1777)", kSource);
  }
  unlink(name.c_str());
  close(fd);
  const std::uint64_t size = std::uint64_t{status.f_blocks} * status.f_frsize;
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  const std::string detail =
      fmt::format("/dev/shm has {}, {} are free", bytes_text(size), bytes_text(free));
  if (free > kContainerDefault) return works(kId, detail, kSource);
  return does_not(kId,
                  detail +
                      ". Processes of one job meet there; a container's default of 64 MiB "
                      "is too small for NCCL",
                  "`docker run --shm-size=1g`, or in Kubernetes an emptyDir with medium Memory",
                  kSource);
}

}  // namespace cuvmm::doctor
