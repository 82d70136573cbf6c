#include "fuzz/plain/record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "fuzz/plain/generator.h"

namespace cuvmm::fuzz::plain {

namespace {

using Clock = std::chrono::steady_clock;

// What the child tells its watchdog; it survives the child's death.
struct Progress {
  std::uint64_t program;  ///< the one that runs, or the next
  std::uint64_t op;       ///< the one that runs
  std::uint64_t calls, succeeded, left_out;
  bool finished;
  char error[256];
  Answer answers[kMostOps];  ///< of the program that runs
};

class Child {
 public:
  Child(const RecordOptions& options, Progress& progress, int file, Clock::time_point end)
      : options_(options), progress_(progress), file_(file), end_(end) {}

  [[noreturn]] void run() {
    const Functions functions = load_functions(options_.driver);
    if (!functions.error.empty()) stop(functions.error);
    Machine machine(functions);
    if (!machine.error().empty()) stop(machine.error());
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
      put(recorded_bytes(program));
      for (Answer& answer : progress_.answers) answer = {};
      ++progress_.program;
      if (!clean) _exit(4);
    }
    progress_.finished = true;
    _exit(0);
  }

 private:
  [[noreturn]] void stop(const std::string& error) {
    error.copy(progress_.error, sizeof progress_.error - 1);
    _exit(3);
  }
  void write_header(const Functions& functions, const Machine& machine) {
    RecordedMachine recorded;
    char name[64] = {};
    functions.cuDeviceGetName(name, sizeof name, 0);
    functions.cuDriverGetVersion(&recorded.driver_version);
    recorded.gpu = name;
    recorded.devices = machine.devices();
    recorded.seed = options_.seed;
    put(recording_header(recorded));
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

// The program in which the child died, with what it answered until then.
std::string last_words(const RecordOptions& options, Progress& progress) {
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

// Waits for the child; whether it hung in one program and was killed.
bool watch(pid_t pid, const Progress& progress, int& status) {
  constexpr auto kPatience = std::chrono::seconds(10);
  std::uint64_t seen = progress.program;
  auto since = Clock::now();
  while (waitpid(pid, &status, WNOHANG) == 0) {
    usleep(2000);
    if (progress.program != seen) seen = progress.program, since = Clock::now();
    if (Clock::now() - since < kPatience) continue;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return true;
  }
  return false;
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
  constexpr unsigned kMostRestarts = 200;
  while (!progress.finished && out.restarts < kMostRestarts && Clock::now() < end) {
    const pid_t pid = fork();
    if (pid == 0) Child(options, progress, file, end).run();
    if (pid < 0) break;
    int status = 0;
    const bool hung = watch(pid, progress, status);
    if (progress.error[0]) {
      out.error = progress.error;
      break;
    }
    if (progress.finished) break;
    ++out.restarts;
    if (!hung && !WIFSIGNALED(status)) continue;
    const std::string words = last_words(options, progress);
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

}  // namespace cuvmm::fuzz::plain
