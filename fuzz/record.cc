#include "fuzz/record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "fuzz/generator.h"

namespace cuvmm::fuzz {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPeerLost = 5;  // the child's exit code: the other process died or hung

// What the child tells its watchdog.
struct Progress {
  std::uint64_t program;  ///< the one that runs, or the next
  std::uint64_t op;       ///< the one that runs
  std::uint64_t calls, succeeded, left_out;
  int devices;
  bool finished;
  char error[256];
};

Ops program_of(const RecordOptions& options, std::uint64_t number, int devices) {
  Random random(options.seed * 1000003 + number);
  Style style = swarm(random, {.devices = devices, .processes = options.processes});
  style.ops = (style.processes > 1 ? 20 : 10) + random.below(50);
  if (random.chance(50)) style.faults += 10;
  Ops ops = generate(random, style);
  // Some with faults by rule, alone and in pairs.
  const auto rules = plantable();
  for (unsigned faults = random.chance(30) ? 1 + random.below(3) : 0; faults > 0; --faults) {
    plant(ops, rules[random.below(static_cast<std::uint32_t>(rules.size()))], random);
  }
  if (ops.size() > 64) ops.resize(64);
  // A real driver may be behind this: neither the style nor the machine allows them; nor this.
  std::erase_if(ops, [](const Op& op) { return is_multicast(op.code); });
  return ops;
}

class Child {
 public:
  Child(const RecordOptions& options, Progress& progress, int file, Clock::time_point end)
      : options_(options), progress_(progress), file_(file), end_(end) {}

  [[noreturn]] void run() {
    auto peer = options_.processes > 1 ? std::make_unique<Peer>(options_.driver) : nullptr;
    const LoadedDriver loaded = load_driver(options_.driver);
    ProfileResult profile =
        load_profile(options_.profile.empty() ? builtin_profiles().front() : options_.profile);
    if (!loaded.error.empty()) stop(loaded.error);
    if (!profile.error.empty()) stop(profile.error);
    Differential machine(loaded.driver, std::move(profile.profile),
                         {.spare = true, .wait = true, .charge = false}, std::move(peer));
    if (!machine.error().empty()) stop(machine.error());
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
      // What would not go away would be in the way of all that follows.
      if (result.at == program.ops.size() && result.verdict == Result::Verdict::kDisagree) _exit(4);
    }
    progress_.finished = true;
    _exit(0);
  }

 private:
  [[noreturn]] void stop(const std::string& error) {
    error.copy(progress_.error, sizeof progress_.error - 1);
    _exit(3);
  }
  void write_header(Differential& machine) {
    RecordedMachine recorded;
    char name[64] = {};
    machine.machine().driver()(calls::DeviceGetName{name, sizeof name, 0});
    machine.machine().driver()(calls::DriverGetVersion{&recorded.driver_version});
    recorded.gpu = name;
    recorded.devices = machine.machine().devices();
    recorded.seed = options_.seed;
    recorded.processes = options_.processes;
    put(recording_header(recorded));
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
    put(recorded_bytes(program));
  }
  void put(const std::string& bytes) {
    if (write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      stop("the output cannot be written");
    }
  }

  const RecordOptions& options_;
  Progress& progress_;
  const int file_;
  const Clock::time_point end_;
};

// The program in which the child died, as far as it is known.
std::string last_words(const RecordOptions& options, const Progress& progress, int devices) {
  RecordedProgram program;
  program.ops = program_of(options, progress.program, devices);
  program.answers.resize(program.ops.size());
  if (progress.op < program.answers.size()) {
    program.answers[progress.op].how = RecordedAnswer::How::kDied;
  }
  return recorded_bytes(program);
}

}  // namespace

RecordSummary record(const RecordOptions& options) {
  RecordSummary out;
  const auto begin = Clock::now();
  const auto end = begin + options.time;
  void* shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int file = open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (shared == MAP_FAILED || file < 0) {
    out.error = "cannot write " + options.output;
    return out;
  }
  auto& progress = *new (shared) Progress{};
  constexpr unsigned kMostRestarts = 100;
  constexpr auto kPatience = std::chrono::seconds(10);  // for one program
  while (!progress.finished && out.restarts < kMostRestarts && Clock::now() < end) {
    const std::uint64_t first = progress.program;
    const pid_t pid = fork();
    if (pid == 0) Child(options, progress, file, end).run();
    if (pid < 0) break;
    int status = 0;
    std::uint64_t seen = first;
    auto since = Clock::now();
    bool hung = false;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      usleep(2000);
      if (progress.program != seen) seen = progress.program, since = Clock::now();
      if (Clock::now() - since < kPatience) continue;
      hung = true;
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    if (progress.error[0]) {
      out.error = progress.error;
      break;
    }
    if (progress.finished) break;
    ++out.restarts;
    const bool lost = WIFEXITED(status) && WEXITSTATUS(status) == kPeerLost;
    const bool died = hung || lost || WIFSIGNALED(status);
    if (!died) continue;
    // The header's device count stands in the file; programs are generated for it again.
    const std::string words = last_words(options, progress, std::max(1, progress.devices));
    if (write(file, words.data(), words.size()) < 0) break;
    ++progress.program;
  }
  close(file);
  out.programs = progress.program;
  out.calls = progress.calls;
  out.succeeded = progress.succeeded;
  out.left_out = progress.left_out;
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  munmap(shared, sizeof(Progress));
  return out;
}

}  // namespace cuvmm::fuzz
