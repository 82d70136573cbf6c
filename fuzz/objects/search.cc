// SPDX-License-Identifier: Apache-2.0
#include "fuzz/objects/search.h"

#include <unistd.h>

#include "api/driver/driver.h"
#include "fuzz/finding/drop.h"
#include "fuzz/finding/progress.h"
#include "fuzz/objects/maker.h"
#include "fuzz/objects/reference.h"
#include "fuzz/search/in_child.h"

namespace cuvmm::fuzz::objects {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{60};

/// A machine and a reference that follow one program after the other.
class Runner {
 public:
  explicit Runner(const Functions& driver) : machine_(driver) {}
  std::string start() { return machine_.start(); }

  Result run(const Ops& ops) {
    Result out;
    out.problem = machine_.begin();
    reference_.begin();
    for (std::size_t i = 0; i < ops.size() && out.problem.empty(); ++i) step(ops[i], i, out);
    if (!out.problem.empty()) return out;
    for (const Op& op : reference_.clean_up()) {
      if (out.problem.empty()) step(op, ops.size(), out);
    }
    machine_.end();
    return out;
  }

 private:
  void step(const Op& op, std::size_t index, Result& out) {
    const Expectation expected = reference_.expect(op);
    if (expected.skip) {
      ++out.skipped;
      return;
    }
    const Answer answer = machine_.run(op);
    ++out.calls;
    out.succeeded += answer.result == CUDA_SUCCESS;
    out.text += text_of(op) + "  # " + result_name(answer.result) + "\n";
    const bool right =
        expected.refused ? answer.result != CUDA_SUCCESS : answer.result == expected.result;
    std::string wrong;
    if (!right) {
      wrong = result_name(answer.result) + ", the reference says " +
              (expected.refused ? "an error" : result_name(expected.result));
    } else if (answer.result == CUDA_SUCCESS) {
      wrong = reference_.accept(op, answer);
    } else {
      reference_.refuse(op);
    }
    if (wrong.empty()) return;
    out.problem = "op " + std::to_string(index) + ", " + info(op.code).text + ": " + wrong;
  }

  Machine machine_;
  Reference reference_;
};

/// The results that a child leaves, also where it dies.
struct Board {
  std::uint64_t seed = 0, programs = 0, calls = 0, succeeded = 0;
  unsigned skipped = 0;
  char problem[512] = {};
  char text[1 << 15] = {};
};

Result dead() { return {.problem = "no memory for a child process"}; }

}  // namespace

Result run(const Functions& driver, const Ops& ops) {
  Runner runner(driver);
  const std::string error = runner.start();
  return error.empty() ? runner.run(ops) : Result{.problem = error};
}

Result run_alone(const Functions& driver, const Ops& ops) {
  const SharedWithChild<Board> board;
  if (!board) return dead();
  const std::string end = in_child(
      [&] {
        const Result result = run(driver, ops);
        put(board->problem, result.problem);
        put(board->text, result.text);
        board->calls = result.calls;
        board->skipped = result.skipped;
      },
      kLongest);
  return {end.empty() ? std::string(board->problem) : end, board->text,
          static_cast<unsigned>(board->calls), 0, board->skipped};
}

Found search(const Functions& driver, std::uint64_t seed, Limits limits) {
  Found out;
  const SharedWithChild<Board> board;
  if (!board) return {.result = dead()};
  const auto begin = Clock::now();
  const std::string end = in_child(
      [&] {
        Runner runner(driver);
        Progress progress;
        put(board->problem, runner.start());
        for (board->seed = seed << 32; !*board->problem && board->programs < limits.programs &&
                                       Clock::now() - begin < limits.time;) {
          Random random(++board->seed);
          const Result result = runner.run(make_program(random));
          ++board->programs;
          board->calls += result.calls;
          board->succeeded += result.succeeded;
          put(board->problem, result.problem);
          progress.tell(board->programs, board->calls);
        }
      },
      limits.time + kLongest);
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  out.programs = board->programs;
  out.calls = board->calls;
  out.succeeded = board->succeeded;
  if (end.empty() && !*board->problem) return out;
  Random random(board->seed);
  out.ops = make_program(random);
  out.result = run_alone(driver, out.ops);
  // The programs before it may matter.
  if (out.result.problem.empty()) out.result.problem = end.empty() ? board->problem : end;
  return out;
}

std::string kind_of(const std::string& problem) {
  return problem.rfind("op ", 0) == 0 ? problem.substr(problem.find(", ") + 2) : problem;
}

Shortened shorten(const Functions& driver, const Found& found) {
  Shortened out{found.ops, found.result};
  const std::string kind = kind_of(found.result.problem);
  Tries tries({.tries = 1500, .time = std::chrono::minutes(2)});
  const auto better = [&](const Ops& ops) {
    if (!tries.next()) return false;
    Result result = run_alone(driver, ops);
    if (kind_of(result.problem) != kind) return false;
    out.ops = ops;
    out.result = std::move(result);
    return true;
  };
  const auto size = [&] { return out.ops.size(); };
  const auto drop = [&](std::size_t first, std::size_t count) {
    Ops ops = out.ops;
    const auto at = ops.begin() + static_cast<std::ptrdiff_t>(first);
    ops.erase(at, at + static_cast<std::ptrdiff_t>(count));
    return better(ops);
  };
  const auto smaller = [&] {
    bool any = false;
    for (std::size_t i = 0; i < out.ops.size(); ++i) {
      for (std::size_t field = 0; field < kMostFields; ++field) {
        const unsigned value = out.ops[i].values[field];
        for (const unsigned less : {0u, 1u, value / 2}) {
          if (less >= out.ops[i].values[field]) continue;
          Ops ops = out.ops;
          ops[i].values[field] = less;
          if (better(ops)) any = true;
        }
      }
    }
    return any;
  };
  while (drop_runs(0, size, drop) || smaller()) {
  }
  out.tries = tries.made();
  return out;
}

}  // namespace cuvmm::fuzz::objects
