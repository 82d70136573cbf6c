// SPDX-License-Identifier: Apache-2.0
// cuvmm-bench: measures the time of a libcuda's calls, and the time that the shim adds to them.
#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/measure/life.h"
#include "bench/measure/long_run.h"
#include "bench/measure/measure.h"
#include "bench/measure/samples.h"
#include "bench/measure/startup.h"
#include "bench/measure/stopwatch.h"

namespace cuvmm::bench {
namespace {

constexpr const char* kUsage = R"(cuvmm-bench --driver PATH [--shim PATH] [options]
  --driver PATH     the libcuda to measure
  --shim PATH       measure libcuvmm-shim.so over it as well, in turn
  --before PATH     and another shim, as "before", in the same run
  --watched LIST    and both shims as they write for others, of ring,live,timeline, or several at
                    once ("ring+live" is what cuvmm run sets): "shim, live", "shim, ring+live", ...
                    Many shims at once need GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536
  --floor NAME      and a wrapper that only counts its calls, as the column NAME: the least that any
                    layer between a program and its libcuda costs
  --name NAME       what the driver's column is called (default "bare")
  --shim-name NAME  what the shim's column is called (default "shim")
  --only LIST       of copies,launches,calls,threads,other,startup,memory (default all but memory)
  --live LIST       live mappings (default 0,1000)
  --threads LIST    numbers of threads (default 1,4,16)
  --seconds S       per measurement (default 0.3)
  --startups N      how often a program is started (default 30)
  --out FILE        JSON in Google Benchmark's layout
  --cold KIB        each call below evicts KIB of data and of code from the caches, as a driver in
                    the kernel does; the time of that is taken off (see docs/performance.md)
  --long N          make N calls as a long training does instead (for bench/long_run.py)
  --lives N         do N lives of a block instead, and measure nothing (for callgrind); FILE then
                    gets /proc/self/maps
  --work KIND       with --lives: another kind of work N times. fill, fill-between: fills of plain
                    memory while mapped memory is used, with no reservation near, and between two
                    reservations; launch, launch-mapped: launches of a kernel with 16 pointers, into
                    no reservation, and into 16 mappings
)";

struct Options {
  std::string driver, shim, before, floor, watched, name = "bare", shim_name = "shim", out, work;
  std::string only = "copies,launches,calls,threads,other,startup";
  std::vector<int> live{0, 1000};
  std::vector<int> threads{1, 4, 16};
  double seconds = 0.3;
  int lives = 0;
  long long calls = 0;
  std::string cold;
  int startups = 30;

  bool wants(const char* what) const {
    return ("," + only + ",").find("," + std::string(what) + ",") != std::string::npos;
  }
};

std::vector<int> numbers(const char* list) {
  std::vector<int> result;
  for (char* at = const_cast<char*>(list); *at != '\0';) {
    result.push_back(static_cast<int>(std::strtol(at, &at, 10)));
    if (*at == ',') ++at;
  }
  return result;
}

// Reads the command line. `driver` is empty if it has a mistake.
Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const char* value = argv[i + 1];
    if (flag == "--driver")
      options.driver = value;
    else if (flag == "--shim")
      options.shim = value;
    else if (flag == "--before")
      options.before = value;
    else if (flag == "--floor")
      options.floor = value;
    else if (flag == "--watched")
      options.watched = value;
    else if (flag == "--name")
      options.name = value;
    else if (flag == "--shim-name")
      options.shim_name = value;
    else if (flag == "--only")
      options.only = value;
    else if (flag == "--live")
      options.live = numbers(value);
    else if (flag == "--threads")
      options.threads = numbers(value);
    else if (flag == "--startups")
      options.startups = static_cast<int>(std::strtol(value, nullptr, 10));
    else if (flag == "--lives")
      options.lives = static_cast<int>(std::strtol(value, nullptr, 10));
    else if (flag == "--work")
      options.work = value;
    else if (flag == "--long")
      options.calls = std::strtoll(value, nullptr, 10);
    else if (flag == "--cold")
      options.cold = value;
    else if (flag == "--seconds")
      options.seconds = std::strtod(value, nullptr);
    else if (flag == "--out")
      options.out = value;
    else
      return {};
  }
  return options;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

void describe(const Variant& bare, const std::string& path, Results& results) {
  char name[128] = "";
  int version = 0;
  bare.driver(calls::DeviceGetName{name, sizeof name, 0});
  bare.driver(calls::DriverGetVersion{&version});
  utsname system{};
  ::uname(&system);
  results.context("driver", path);
  results.context("cuda_version", std::to_string(version));
  results.context("device", name);
  results.context("cpu", cpu_model());
  results.context("num_cpus", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  results.context("kernel", system.release);
  results.context("clock_overhead_ns", std::to_string(clock_overhead()));
}

// The path of a library in ../lib, seen from this program.
std::string beside(const char* library) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib" /
         library;
}

// The path of libcuvmm-cold.so, which evicts caches and then calls the libcuda at `path`.
std::string cold_driver(const std::string& path, const std::string& kibibytes) {
  ::setenv("CUVMM_BENCH_BELOW", path.c_str(), 1);
  ::setenv("CUVMM_BENCH_COLD", kibibytes.c_str(), 1);
  return beside("libcuvmm-cold.so");
}

std::vector<std::string> parts(const std::string& list, char between) {
  std::vector<std::string> result;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, between);) result.push_back(word);
  return result;
}

// Variants with further copies of the shim, which write a ring, a live file or a timeline. Each
// copy has a file of its own, so that the loader loads it anew. The destructor removes the copies
// and their folders.
class Watched {
 public:
  Watched(const Options& options, Variants& variants) {
    for (const std::string& how : parts(options.watched, ',')) {
      if (!options.before.empty()) open(options.before, "before", how, variants);
      open(options.shim, options.shim_name, how, variants);
    }
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() {
    std::error_code error;
    for (const std::string& folder : folders_) std::filesystem::remove_all(folder, error);
  }

 private:
  // in_memory: the folder is in memory (/dev/shm), where `cuvmm run` has live files.
  std::string make_folder(bool in_memory) {
    std::error_code error;
    const bool shared = in_memory && std::filesystem::is_directory("/dev/shm", error);
    std::string name = shared ? "/dev/shm" : std::filesystem::temp_directory_path().string();
    name += "/cuvmm-bench-XXXXXX";
    if (!::mkdtemp(name.data())) {
      std::perror(name.c_str());
      std::exit(1);
    }
    folders_.push_back(name);
    return name;
  }

  void open(const std::string& shim, const std::string& name, const std::string& how,
            Variants& variants) {
    static const std::map<std::string, const char*> kVariables = {
        {"ring", "CUVMM_RING"}, {"live", "CUVMM_LIVE"}, {"timeline", "CUVMM_TIMELINE"}};
    const std::vector<std::string> written = parts(how, '+');
    for (const std::string& one : written) {
      if (kVariables.count(one) == 0) {
        std::fprintf(stderr, "--watched: not ring, live or timeline: %s\n", one.c_str());
        std::exit(2);
      }
      ::setenv(kVariables.at(one), make_folder(one == "live").c_str(), 1);
    }
    const std::string copy = make_folder(false) + "/" + name + ".so";
    std::filesystem::copy_file(shim, copy);
    variants.push_back(open_variant(name + ", " + how, copy));
    for (const std::string& one : written) ::unsetenv(kVariables.at(one));
  }

  std::vector<std::string> folders_;
};

// The work of --lives. Returns the program's exit code.
int work(const Options& options, const Variant& variant) {
  if (options.work == "fill" || options.work == "fill-between") {
    fill_plain_memory(variant, options.work == "fill-between", options.lives);
  } else if (options.work == "launch" || options.work == "launch-mapped") {
    launch_pointers(variant, options.work == "launch-mapped" ? 16 : 0, options.lives);
  } else if (options.work.empty()) {
    for (int i = 0; i < options.lives; ++i) {
      live_once([&](const auto& call) { must(variant.driver(call), call.kName); }, nullptr);
    }
  } else {
    std::fprintf(stderr, "--work: no such kind: %s\n", options.work.c_str());
    return 2;
  }
  return 0;
}

int run(const Options& options) {
  Results results;
  const LoadedDriver found = load_driver(options.driver);
  std::string path = found.error.empty() ? found.path : options.driver;
  if (!options.cold.empty()) path = cold_driver(path, options.cold);
  // Measured before this process initialises the driver, because the measurement starts children.
  if (options.lives == 0 && options.calls == 0 && options.wants("startup"))
    measure_startup(path, options.shim, options.startups, results);
  if (!options.shim.empty() || !options.floor.empty()) ::setenv("CUVMM_DRIVER", path.c_str(), 1);
  ::setenv("CUVMM_QUIET", "1", 1);
  Variants variants{open_variant(options.name, options.cold.empty() ? options.driver : path)};
  if (!options.floor.empty()) {
    variants.push_back(open_variant(options.floor, beside("libcuvmm-counting.so")));
  }
  if (!options.before.empty()) variants.push_back(open_variant("before", options.before));
  if (!options.shim.empty()) variants.push_back(open_variant(options.shim_name, options.shim));
  const Watched watched(options, variants);
  if (const void* counter = ::dlsym(variants[0].library, "cuvmm_cold_ticks")) {
    Stopwatch::set_evicted(static_cast<const std::uint64_t*>(counter));
  }
  if (options.lives != 0) {
    if (!options.out.empty()) {
      std::ofstream(options.out) << std::ifstream("/proc/self/maps").rdbuf();
    }
    return work(options, variants.back());
  }
  if (options.calls > 0) {
    make_long_run(variants.back(), static_cast<std::uint64_t>(options.calls));
    return 0;
  }
  describe(variants[0], path, results);
  if (options.wants("other")) measure_other(variants, options.seconds, results);
  if (options.wants("copies")) {
    measure_copies(variants, "copies", options.threads, options.seconds, results);
  }
  if (options.wants("launches")) {
    measure_launches(variants, "launches", 0, options.seconds, results);
    for (const int live : options.live) {
      if (live == 0) continue;
      measure_launches(variants, "launches/live:" + std::to_string(live),
                       static_cast<std::size_t>(live), options.seconds, results);
    }
  }
  if (options.wants("memory")) {
    measure_memory(variants.back(), static_cast<std::size_t>(options.live.back()), results);
  }
  if (options.wants("calls")) {
    for (const int live : options.live) {
      measure_calls(variants, static_cast<std::size_t>(live), options.seconds, results);
    }
  }
  if (options.wants("threads")) {
    for (const int threads : options.threads) {
      measure_threads(variants, threads, false, options.seconds, results);
      measure_threads(variants, threads, true, options.seconds, results);
    }
  }
  if (options.wants("copies")) {
    measure_copies(variants, "copies-beside-vmm", {}, options.seconds, results);
  }
  if (options.out.empty() || results.write(options.out)) return 0;
  std::fprintf(stderr, "cuvmm-bench: cannot write %s\n", options.out.c_str());
  return 1;
}

// The program that measure_startup() starts.
int initialise(const char* path) {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library) return 1;
  const auto init = reinterpret_cast<CUresult(CUDAAPI*)(unsigned)>(::dlsym(library, "cuInit"));
  return init && init(0) == CUDA_SUCCESS ? 0 : 1;
}

}  // namespace
}  // namespace cuvmm::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--exit-at-once") == 0) return 0;
  if (argc == 3 && std::strcmp(argv[1], "--init") == 0) return cuvmm::bench::initialise(argv[2]);
  const cuvmm::bench::Options options = cuvmm::bench::parse(argc, argv);
  if (options.driver.empty() || argc % 2 == 0) {
    std::fputs(cuvmm::bench::kUsage, stderr);
    return 2;
  }
  return cuvmm::bench::run(options);
}
