// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/engine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "fuzz/finding/fingerprint.h"
#include "fuzz/finding/last_programs.h"
#include "fuzz/generate/generator.h"
#include "fuzz/machine/driver_library.h"
#include "fuzz/search/sanitizer_options.h"

namespace cuvmm::fuzz {

namespace {
Statistics& statistics() {
  static Statistics all;
  return all;
}

// The file of the last programs; nothing without a prefix, as under an engine other than libFuzzer.
LastPrograms* last_programs = nullptr;

void open_last_programs(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  if (ftruncate(fd, sizeof(LastPrograms)) == 0) {
    void* at = mmap(nullptr, sizeof(LastPrograms), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    // The bytes of a new file are zero, which is an empty ring.
    if (at != MAP_FAILED) last_programs = static_cast<LastPrograms*>(at);
  }
  close(fd);
}

// Prints progress, for fuzz/run.
void tell_progress() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point printed = Clock::now();
  const Clock::time_point now = Clock::now();
  if (now - printed < std::chrono::seconds(1)) return;
  printed = now;
  std::fprintf(stderr, "cuvmm: %s\n", statistics().text().c_str());
}

// The emulator: the path in CUVMM_DRIVER, or beside the program as in a fleet's build, or in the
// build's folder.
std::string driver_path() {
  if (const char* named = std::getenv("CUVMM_DRIVER")) return named;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = program.parent_path() / "emulator/libcuda.so.1";
  return std::filesystem::exists(beside, error) ? beside.string() : CUVMM_EMULATOR;
}

// CUVMM_FUZZ_PROCESSES=2 allows programs of two processes. A fleet sets no variables; there, a copy
// of the target whose name ends in -processes has such programs.
int processes() {
  if (const char* count = std::getenv("CUVMM_FUZZ_PROCESSES"))
    return std::clamp(std::atoi(count), 1, kProcesses);
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  return program.ends_with("-processes") ? kProcesses : 1;
}

const LoadedDriver& loaded() {
  static const LoadedDriver driver = load_driver(driver_path());
  return driver;
}

// The driver's profile. CUVMM_PROFILE=documented has logical endpoints, which the newest recorded
// driver lacks.
const ProfileResult& wanted_profile() {
  static const ProfileResult result = [] {
    const char* wanted = std::getenv("CUVMM_PROFILE");
    return load_profile(wanted ? wanted : builtin_profiles().front());
  }();
  return result;
}

Scope scope() {
  return {.devices = 3,
          .processes = processes(),
          .multicast = loaded().emulated,
          .endpoints = wanted_profile().profile.cuda_version >= kEndpointsSince,
          .further = true};
}
}  // namespace

Differential& engine() {
  static Differential* const only = [] {
    setenv("CUVMM_DEVICES", "3", 0);
    setenv("CUVMM_DEVICE_MEMORY", "64M", 0);
    setenv("CUVMM_MULTICAST_TIMEOUT_MS", "0", 0);
    const ProfileResult& profile = wanted_profile();
    std::string error = loaded().error.empty() ? profile.error : loaded().error;
    Differential* out = nullptr;
    if (error.empty()) {
      // The peer must be forked before this process uses the driver, by the process that runs the
      // programs.
      auto peer = processes() > 1 ? std::make_unique<Peer>(driver_path()) : nullptr;
      const DifferentialOptions options = {
          .multicast = loaded().emulated,
          .destroy_graph = function_of<CUresult(CUgraph)>(loaded(), "cuGraphDestroy")};
      out = new Differential(loaded().driver, profile.profile, options, std::move(peer));
      error = out->error();
    }
    if (!error.empty()) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::_Exit(3);
    }
    std::atexit([] { std::fprintf(stderr, "cuvmm: %s\n", statistics().text().c_str()); });
    return out;
  }();
  return *only;
}

void run_input(std::span<const std::uint8_t> input, const char* target,
               const std::function<Result(Differential&, const Ops&)>& run) {
  if (last_programs) last_programs->add(input);
  const Ops ops = decode(input);
  const Result result = run(engine(), ops);
  statistics().add(result);
  tell_progress();
  if (result.verdict != Result::Verdict::kDisagree) return;
  std::fprintf(stderr,
               "%s: op %zu: %s\nfingerprint: %s\n\n%s\nshorter, with C and a test: cuvmm-fuzz "
               "--driver %s --judge %s "
               "--shrink THE-INPUT\n",
               target, result.at, result.problem.c_str(),
               fingerprint(kind_of(result.problem)).c_str(), to_text(ops, notes_of(result)).c_str(),
               CUVMM_EMULATOR, target);
  std::abort();
}

}  // namespace cuvmm::fuzz

namespace {

std::size_t store(const cuvmm::fuzz::Ops& ops, std::uint8_t* data, std::size_t most) {
  const auto bytes = cuvmm::fuzz::encode(ops);
  const std::size_t size = std::min(bytes.size(), most);
  std::memcpy(data, bytes.data(), size);
  return size;
}

std::size_t room(std::size_t most) {
  using cuvmm::fuzz::kHeaderBytes;
  return most < kHeaderBytes + 16 ? 1 : std::min<std::size_t>((most - kHeaderBytes) / 16, 60);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most)
    __attribute__((weak));

// AFL++ forks after this call. Libraries with counters must be loaded before, and the emulator must
// be unused, because a child cannot go on with it.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kPrefix = "-artifact_prefix=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (!argument.starts_with(kPrefix)) continue;
    cuvmm::fuzz::open_last_programs(std::string(argument.substr(kPrefix.size())) + "last-programs");
  }
  cuvmm::fuzz::loaded();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace cuvmm::fuzz;
  Random random(seed);
  // The engine's own byte changes are used as well, because they find changes that the structure
  // leaves out.
  if (random.chance(15) && LLVMFuzzerMutate) return LLVMFuzzerMutate(data, size, most);
  Ops ops = decode({data, size});
  if (ops.empty() || random.chance(5)) {
    ops = generate(random, swarm(random, scope()));
    if (ops.size() > room(most)) ops.resize(room(most));
  } else {
    mutate(ops, random, scope(), room(most));
  }
  return store(ops, data, most);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size,
                                                 const std::uint8_t* b, std::size_t b_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned seed) {
  using namespace cuvmm::fuzz;
  Random random(seed);
  return store(cross_over(decode({a, a_size}), decode({b, b_size}), random, room(most)), out, most);
}
