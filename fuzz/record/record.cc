// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/record.h"

#include <unistd.h>

#include <new>

#include "fuzz/machine/driver_library.h"
#include "fuzz/record/programs.h"
#include "fuzz/record/watched.h"

namespace cuvmm::fuzz {

namespace {

struct DeviceProgress : Progress {
  int devices = 0;
};

Ops program_of(const RecordOptions& options, std::uint64_t number, int devices) {
  const Programs programs = options.further ? Programs::kTiles : Programs::kToday;
  return program_of(programs, options.seed, number, devices, options.processes);
}

class Child {
 public:
  Child(const RecordOptions& options, DeviceProgress& progress, int file, Clock::time_point end)
      : options_(options), progress_(progress), file_(file), end_(end) {}

  [[noreturn]] void run() {
    auto peer = options_.processes > 1 ? std::make_unique<Peer>(options_.driver) : nullptr;
    const LoadedDriver loaded = load_driver(options_.driver);
    ProfileResult profile =
        load_profile(options_.profile.empty() ? builtin_profiles().front() : options_.profile);
    if (!loaded.error.empty()) stop(progress_, loaded.error);
    if (!profile.error.empty()) stop(progress_, profile.error);
    const DifferentialOptions kind = {
        .spare = true,
        .wait = true,
        .charge = false,
        .destroy_graph = function_of<CUresult(CUgraph)>(loaded, "cuGraphDestroy")};
    Differential machine(loaded.driver, std::move(profile.profile), kind, std::move(peer));
    if (!machine.error().empty()) stop(progress_, machine.error());
    progress_.devices = machine.machine().devices();
    if (progress_.program == 0) write_header(machine);
    machine.on_step = [this](std::size_t op) { progress_.op = op; };
    while (Clock::now() < end_ && progress_.calls < options_.calls) {
      RecordedProgram program;
      program.ops = program_of(options_, progress_.program, machine.machine().devices());
      progress_.op = 0;
      const Result result = machine.run(program.ops);
      if (!machine.lost().empty()) _exit(kPeerLost);
      take(result, program);
      ++progress_.program;
      // Objects that cannot be removed would disturb all later programs, and so would a context
      // that has failed.
      const bool left =
          result.at == program.ops.size() && result.verdict == Result::Verdict::kDisagree;
      if (left || result.broken) _exit(4);
    }
    progress_.finished = true;
    _exit(0);
  }

 private:
  void write_header(Differential& machine) {
    RecordedMachine recorded;
    char name[64] = {};
    machine.machine().driver()(calls::DeviceGetName{name, sizeof name, 0});
    machine.machine().driver()(calls::DriverGetVersion{&recorded.driver_version});
    recorded.gpu = name;
    recorded.devices = machine.machine().devices();
    recorded.seed = options_.seed;
    recorded.processes = options_.processes;
    put(progress_, file_, recording_header(recorded));
  }
  void take(const Result& result, RecordedProgram& program) {
    for (const Step& step : result.steps) {
      RecordedAnswer answer;
      if (step.skipped) {
        answer.how = RecordedAnswer::How::kLeftOut;
        ++progress_.left_out;
      } else if (step.answer.run) {
        answer.how = RecordedAnswer::How::kDone;
        answer.result = step.answer.result;
        answer.value = step.answer.value;
        ++progress_.calls;
        progress_.succeeded += answer.result == CUDA_SUCCESS;
      }
      program.answers.push_back(answer);
    }
    put(progress_, file_, recorded_bytes(program));
  }

  const RecordOptions& options_;
  DeviceProgress& progress_;
  const int file_;
  const Clock::time_point end_;
};

// The bytes to record of the program in which the child died, as far as they are known.
std::string last_words(const RecordOptions& options, const DeviceProgress& progress) {
  RecordedProgram program;
  // The reader generates programs for the device count in the file's header.
  program.ops = program_of(options, progress.program, std::max(1, progress.devices));
  program.answers.resize(program.ops.size());
  if (progress.op < program.answers.size()) {
    program.answers[progress.op].how = RecordedAnswer::How::kDied;
  }
  return recorded_bytes(program);
}

}  // namespace

RecordSummary record(const RecordOptions& options) {
  void* shared = shared_with_children(sizeof(DeviceProgress));
  if (!shared) return {.error = "no memory to share"};
  auto& progress = *new (shared) DeviceProgress{};
  const auto work = [&](int file, Clock::time_point end) {
    Child(options, progress, file, end).run();
  };
  return record_watched(options, {progress, work, [&] { return last_words(options, progress); }});
}

}  // namespace cuvmm::fuzz
