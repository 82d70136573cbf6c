// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/neighbours.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "api/location.h"
#include "recorder/holdings/reader.h"

namespace cuvmm::shim {

namespace {

std::string read_all(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  for (ssize_t got = 0; (got = ::read(file, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

std::string program_named(int pid) {
  std::string name = read_all("/proc/" + std::to_string(pid) + "/comm");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name;
}

void add_shown(Neighbour& one, const holdings::Snapshot& now, int device) {
  one.shows = true;
  for (const holdings::MemoryHeld& m : now.memory) {
    const Allocation& a = m.allocation;
    const bool here = a.prop_known && device_of(a.prop.location) == device;
    if (here && !a.imported && !a.multicast) (a.mappings ? one.mapped : one.unmapped) += a.size;
  }
  for (const holdings::Piece& p : now.pieces) {
    if (p.device != device) continue;
    if (p.kind == holdings::Piece::Kind::kPool) one.pools += p.size;
    if (p.kind <= holdings::Piece::Kind::kManaged) one.plain += p.size;
  }
}

// The devices that this process sees, in the form of live files. The process may have no live file
// itself, because it makes one at the first change, and a refused call changes nothing.
std::string visible_here() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return std::string(visible ? visible : "-").substr(0, holdings::kTextBytes - 1);
}

void add_live(std::vector<Neighbour>& all, const std::string& folder, int device) {
  std::vector<std::string> problems;
  const std::string visible = visible_here();
  for (const holdings::View& view : holdings::open_all(folder, problems)) {
    // A device's number has one meaning only in processes that see equal devices.
    if (view.pid() == ::getpid() || view.visible() != visible) continue;
    auto known =
        std::ranges::find_if(all, [&](const Neighbour& one) { return one.pid == view.pid(); });
    if (known == all.end()) {
      all.push_back({.pid = view.pid(), .program = {}});
      known = std::prev(all.end());
    }
    add_shown(*known, view.snapshot(), device);
  }
}

std::uint64_t most(const Neighbour& one) {
  return std::max(one.bytes, one.mapped + one.unmapped + one.pools + one.plain);
}

}  // namespace

std::vector<Neighbour> neighbours_on(int device, const Neighbourhood& whom, const std::string& live,
                                     std::chrono::milliseconds limit) {
  std::vector<Neighbour> all;
  char bus_id[32];
  if (whom.bus_id && !whom.nvml.empty() &&
      whom.bus_id(bus_id, sizeof bus_id, device) == CUDA_SUCCESS) {
    all = detail::ask_nvml(whom.nvml, bus_id, limit);
  }
  if (!live.empty()) add_live(all, live, device);
  std::erase_if(all, [](const Neighbour& one) {
    return one.pid == ::getpid() || (one.shows && most(one) == 0);
  });
  std::ranges::stable_sort(
      all, [](const Neighbour& a, const Neighbour& b) { return most(a) > most(b); });
  if (all.size() > kMostNeighbours) all.resize(kMostNeighbours);
  for (Neighbour& one : all) one.program = program_named(one.pid);
  return all;
}

std::string nvml_beside(const std::string& libcuda) {
  std::string name = "libnvidia-ml.so.1";
  const std::size_t slash = libcuda.rfind('/');
  if (slash == std::string::npos) return name;
  const std::string beside = libcuda.substr(0, slash + 1) + name;
  return ::access(beside.c_str(), R_OK) == 0 ? beside : name;
}

}  // namespace cuvmm::shim
