// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/isolation.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "fuzz/finding/last_programs.h"
#include "fuzz/finding/progress.h"
#include "fuzz/finding/shrinker.h"
#include "fuzz/generate/generator.h"
#include "fuzz/machine/driver_library.h"
#include "fuzz/search/in_child.h"
#include "fuzz/search/stacked.h"

namespace cuvmm::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

// Memory that child and parent share; it survives the child's death.
struct Board {
  LastPrograms programs;  ///< the last one runs, or was the last to run
  char problem[512];      ///< the disagreement; empty for none
  char error[512];
  char text[1 << 16];  ///< the program with its answers
  Statistics statistics;
  std::uint32_t used = 0;  ///< bytes used of `pool`
  std::uint8_t pool[8 << 20];
};

// Opens the driver of a child, or ends the child; with a second process where programs need one.
std::unique_ptr<Differential> open(const Target& target, Board& board, int processes) {
  auto peer = processes > 1 ? std::make_unique<Peer>(target.driver) : nullptr;
  const LoadedDriver loaded = load_driver(target.driver);
  ProfileResult profile =
      load_profile(target.profile.empty() ? builtin_profiles().front() : target.profile);
  std::string error = loaded.error.empty() ? profile.error : loaded.error;
  std::unique_ptr<Differential> out;
  if (error.empty() && target.options.multicast && !loaded.emulated) {
    error = "multicast is used on the emulator alone";
  }
  if (error.empty()) {
    DifferentialOptions options = target.options;
    options.destroy_graph = function_of<CUresult(CUgraph)>(loaded, "cuGraphDestroy");
    out = std::make_unique<Differential>(loaded.driver, std::move(profile.profile), options,
                                         std::move(peer));
    error = out->error();
  }
  if (error.empty()) return out;
  put(board.error, error);
  _exit(kReasonWritten);
}

// With every call failing in turn, under the shim; or the runs that a search has time for.
enum class Runs { kAll, kShare };

Result run(const Target& target, Differential& machine, const Ops& ops, Runs runs = Runs::kShare) {
  if (!target.shim) return machine.run(ops);
  return runs == Runs::kAll ? run_stacked(machine, ops) : run_share(machine, ops);
}

std::string describe(const Result& result, const Ops& ops) {
  return (result.at < ops.size() ? "op " + std::to_string(result.at) + ", " : std::string()) +
         result.problem;
}

// Pairs of neighbouring answers and broken rules. A program with a new pair is new.
class Novelty {
 public:
  bool shows_new(const Result& result) {
    bool any = false;
    std::uint64_t before = 0;
    for (const Step& step : result.steps) {
      std::uint64_t feature = static_cast<std::uint64_t>(step.entry) * 1000 +
                              static_cast<std::uint64_t>(step.answer.result);
      for (int i = 0; i < step.judgement.count; ++i) {
        feature += (static_cast<std::uint64_t>(step.judgement.broken[i]) + 1) * 0x9e3779b97f4a7c15u;
      }
      any = seen_.insert(feature * 31 + before).second || any;
      before = static_cast<std::uint64_t>(step.entry) * 7 + (step.answer.result == CUDA_SUCCESS);
    }
    return any;
  }

 private:
  std::set<std::uint64_t> seen_;
};

void keep(Board& board, const Ops& ops) {
  const auto bytes = encode(ops);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  if (board.used + sizeof size + size > sizeof board.pool) return;
  std::memcpy(board.pool + board.used, &size, sizeof size);
  std::memcpy(board.pool + board.used + sizeof size, bytes.data(), size);
  board.used += static_cast<std::uint32_t>(sizeof size) + size;
}

std::vector<Ops> stored_programs(const Board& board) {
  std::vector<Ops> out;
  for (std::uint32_t at = 0; at < board.used;) {
    std::uint32_t size = 0;
    std::memcpy(&size, board.pool + at, sizeof size);
    out.push_back(decode({board.pool + at + sizeof size, size}));
    at += static_cast<std::uint32_t>(sizeof size) + size;
  }
  return out;
}

void search(const Target& target, Board& board, std::uint64_t seed, std::chrono::milliseconds time,
            const std::vector<Ops>& start) {
  const auto machine = open(target, board, target.processes);
  const Scope scope{.devices = machine->machine().devices(),
                    .processes = target.processes,
                    .multicast = target.options.multicast,
                    .endpoints = machine->profile().cuda_version >= kEndpointsSince,
                    .further = true};
  const auto end = Clock::now() + time;
  Random random(seed);
  Novelty novelty;
  Progress progress;
  std::vector<Ops> pool;
  std::size_t given = 0;
  while (Clock::now() < end) {
    Ops ops;
    if (given < start.size()) {
      ops = start[given++];
    } else if (pool.empty() || random.chance(40)) {
      ops = generate(random, swarm(random, scope));
    } else {
      const auto any = [&]() -> const Ops& {
        return pool[random.below(static_cast<std::uint32_t>(pool.size()))];
      };
      ops = random.chance(25) ? cross_over(any(), any(), random, 60) : any();
      mutate(ops, random, scope, 60);
    }
    board.programs.add(encode(ops));
    const Result result = run(target, *machine, ops);
    board.statistics.add(result);
    progress.tell(board.statistics.programs, board.statistics.calls);
    if (result.verdict == Result::Verdict::kDisagree) {
      put(board.problem, describe(result, ops));
      return;
    }
    if (novelty.shows_new(result)) {
      keep(board, ops);
      if (pool.size() < 4096) pool.push_back(std::move(ops));
    }
  }
}

}  // namespace

namespace {

// For each call: the answer, and the answer with each broken rule.
std::set<std::uint64_t> features_of(const Result& result) {
  std::set<std::uint64_t> out;
  for (const Step& step : result.steps) {
    if (step.entry == EntryPoint::kCount) continue;
    const std::uint64_t answer = static_cast<std::uint64_t>(step.entry) * 1000 +
                                 static_cast<std::uint64_t>(step.answer.result);
    out.insert(answer);
    for (int i = 0; i < step.judgement.count; ++i) {
      out.insert(answer + (static_cast<std::uint64_t>(step.judgement.broken[i]) + 1) * 1000000);
    }
  }
  return out;
}

void minimise_here(Differential& machine, const std::vector<Ops>& found, Board& board) {
  std::vector<std::set<std::uint64_t>> shown;
  for (const Ops& ops : found) shown.push_back(features_of(machine.run(ops)));
  std::set<std::uint64_t> covered;
  for (;;) {
    // Takes the program with most new features for its length.
    std::size_t best = 0;
    double worth = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      double fresh = 0;
      for (const std::uint64_t feature : shown[i]) fresh += !covered.contains(feature);
      const double here = fresh / (10.0 + static_cast<double>(found[i].size()));
      if (here > worth) worth = here, best = i;
    }
    if (worth == 0) return;
    std::set<std::uint64_t> wanted;
    for (const std::uint64_t feature : shown[best]) {
      if (!covered.contains(feature)) wanted.insert(feature);
    }
    const ShrinkResult result =
        shrink(found[best],
               [&](const Ops& ops) {
                 const auto now = features_of(machine.run(ops));
                 return std::includes(now.begin(), now.end(), wanted.begin(), wanted.end());
               },
               {.tries = 500});
    covered.merge(features_of(machine.run(result.ops)));
    // Programs of two processes may show other features in another run, so one run counts.
    covered.merge(wanted);
    keep(board, result.ops);
  }
}

}  // namespace

std::vector<Ops> minimise(const Target& target, const std::vector<Ops>& found) {
  const SharedWithChild<Board> board;
  if (!board) return {};
  in_child([&] { minimise_here(*open(target, *board, target.processes), found, *board); },
           std::chrono::minutes(10));
  return stored_programs(*board);
}

std::optional<Finding> try_program(const Target& target, const Ops& ops) {
  return try_programs(target, {ops});
}

std::optional<Finding> try_programs(const Target& target, const std::vector<Ops>& programs) {
  const SharedWithChild<Board> board;
  if (!board) return std::nullopt;
  int processes = 1;
  for (const Ops& ops : programs) processes = std::max(processes, processes_of(ops));
  const std::string death = in_child(
      [&] {
        const auto machine = open(target, *board, processes);
        for (const Ops& ops : programs) {
          board->programs.add(encode(ops));
          // A shorter program fails at another call, so each call is tried.
          const Result result = run(target, *machine, ops, Runs::kAll);
          if (result.verdict != Result::Verdict::kDisagree) continue;
          put(board->problem, describe(result, ops));
          return;
        }
      },
      std::chrono::seconds(20) * std::max<std::size_t>(programs.size(), 1));
  const auto last = board->programs.in_order();
  const Ops ops = last.empty() ? Ops() : decode(last.back());
  if (!death.empty()) return Finding{ops, death};
  if (board->problem[0]) return Finding{ops, board->problem};
  return std::nullopt;
}

std::string annotated_text(const Target& target, const Ops& ops) {
  const SharedWithChild<Board> board;
  if (!board) return to_text(ops);
  in_child(
      [&] {
        const auto machine = open(target, *board, processes_of(ops));
        put(board->text, to_text(ops, notes_of(machine->run(ops))));
      },
      std::chrono::seconds(20));
  return board->text[0] ? board->text : to_text(ops);
}

Hunt hunt(const Target& target, std::uint64_t seed, std::chrono::milliseconds time,
          const std::vector<Ops>& start) {
  Hunt out;
  const SharedWithChild<Board> board;
  if (!board) {
    out.error = "no memory";
    return out;
  }
  const auto begin = Clock::now();
  const std::string death =
      in_child([&] { search(target, *board, seed, time, start); }, time + std::chrono::seconds(30));
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  out.error = board->error;
  out.statistics = board->statistics;
  out.with_new_features = stored_programs(*board);
  if (!death.empty() || board->problem[0]) {
    out.last = board->programs.in_order();
    // A child that dies before its first program, or while it ends, has a finding, too.
    const Ops ops = out.last.empty() ? Ops() : decode(out.last.back());
    out.finding = Finding{ops, death.empty() ? board->problem : death};
  }
  return out;
}

}  // namespace cuvmm::fuzz
