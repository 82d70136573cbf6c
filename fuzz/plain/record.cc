// SPDX-License-Identifier: Apache-2.0
#include "fuzz/plain/record.h"

#include <unistd.h>

#include <new>

#include "fuzz/plain/generator.h"
#include "fuzz/record/watched.h"

namespace cuvmm::fuzz::plain {

namespace {

struct PlainProgress : Progress {
  Answer answers[kMostOps] = {};  ///< answers of the program that runs
};

class Child {
 public:
  Child(const RecordOptions& options, PlainProgress& progress, int file, Clock::time_point end)
      : options_(options), progress_(progress), file_(file), end_(end) {}

  [[noreturn]] void run() {
    const Functions functions = load_functions(options_.driver);
    if (!functions.error.empty()) stop(progress_, functions.error);
    Machine machine(functions);
    if (!machine.error().empty()) stop(progress_, machine.error());
    if (progress_.program == 0) write_header(functions, machine);
    while (Clock::now() < end_ && progress_.calls < options_.calls) {
      RecordedProgram program;
      program.ops = generate(options_.seed, progress_.program);
      machine.start();
      for (std::size_t i = 0; i < program.ops.size() && !machine.broken(); ++i) {
        progress_.op = i;
        progress_.answers[i] = machine.step(program.ops[i]).answer;
      }
      progress_.op = kMostOps;
      const bool clean = machine.finish();
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const Answer& answer = progress_.answers[i];
        program.answers.push_back(answer);
        progress_.left_out += answer.how == Answer::How::kLeftOut;
        if (answer.how != Answer::How::kDone) continue;
        ++progress_.calls;
        progress_.succeeded += answer.result == 0;
      }
      put(progress_, file_, recorded_bytes(program));
      for (Answer& answer : progress_.answers) answer = {};
      ++progress_.program;
      if (!clean) _exit(4);
    }
    progress_.finished = true;
    _exit(0);
  }

 private:
  void write_header(const Functions& functions, const Machine& machine) {
    RecordedMachine recorded;
    char name[64] = {};
    functions.cuDeviceGetName(name, sizeof name, 0);
    functions.cuDriverGetVersion(&recorded.driver_version);
    recorded.gpu = name;
    recorded.devices = machine.devices();
    recorded.seed = options_.seed;
    put(progress_, file_, recording_header(recorded));
  }

  const RecordOptions& options_;
  PlainProgress& progress_;
  const int file_;
  const Clock::time_point end_;
};

// The bytes to record of the program in which the child died, with its answers until then.
std::string last_words(const RecordOptions& options, PlainProgress& progress) {
  RecordedProgram program;
  program.ops = generate(options.seed, progress.program);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    program.answers.push_back(progress.answers[i]);
  }
  if (progress.op < program.ops.size()) {
    program.answers[progress.op].how = Answer::How::kDied;
  }
  for (Answer& answer : progress.answers) answer = {};
  return recorded_bytes(program);
}

}  // namespace

RecordSummary record(const RecordOptions& options) {
  void* shared = shared_with_children(sizeof(PlainProgress));
  if (!shared) return {.error = "no memory to share"};
  auto& progress = *new (shared) PlainProgress{};
  const auto work = [&](int file, Clock::time_point end) {
    Child(options, progress, file, end).run();
  };
  return record_watched(options, {progress, work, [&] { return last_words(options, progress); }});
}

}  // namespace cuvmm::fuzz::plain
