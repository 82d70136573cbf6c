// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/isolate.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "fuzz/search/in_child.h"

namespace cuvmm::fuzz::flight {

namespace {

constexpr std::chrono::seconds kLongest{30};

// The results that a child leaves, also where it dies.
struct Board {
  bool done = false;
  char problem[512] = {};
  unsigned calls = 0;
  bool found[static_cast<std::size_t>(Rule::kCount)] = {};
  bool of_kernels[static_cast<std::size_t>(Rule::kCount)] = {};
  bool stopped = false, faulted = false;
  char notes[1 << 15] = {};  ///< one line for each statement
};

void leave(Board& board, const Result& result) {
  put(board.problem, result.problem);
  board.calls = result.calls;
  for (const Rule rule : result.found) board.found[static_cast<std::size_t>(rule)] = true;
  for (const Rule rule : result.of_kernels) board.of_kernels[static_cast<std::size_t>(rule)] = true;
  board.stopped = result.stopped;
  board.faulted = result.faulted;
  std::string notes;
  for (const std::string& note : result.notes) notes += note + "\n";
  put(board.notes, notes);
  board.done = true;
}

Result read(const Board& board) {
  Result out;
  out.problem = board.problem;
  out.calls = board.calls;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Rule::kCount); ++i) {
    if (board.found[i]) out.found.push_back(static_cast<Rule>(i));
    if (board.of_kernels[i]) out.of_kernels.push_back(static_cast<Rule>(i));
  }
  out.stopped = board.stopped;
  out.faulted = board.faulted;
  std::istringstream notes(board.notes);
  for (std::string note; std::getline(notes, note);) out.notes.push_back(note);
  return out;
}

}  // namespace

Target open_target(const std::string& path) { return {path, load_driver(path)}; }

Result run_alone(const Target& target, const std::string& text, const std::string& streams) {
  const program::ParsedProgram parsed = program::parse_program(text);
  if (!parsed.errors.empty()) {
    return {.problem = "the text: " + format_error(parsed.errors.front(), "program")};
  }
  const SharedWithChild<Board> board;
  if (!board) return {.problem = "no memory"};
  const std::string end = in_child(
      [&] {
        setenv("CUVMM_STREAMS", streams.c_str(), 1);
        if (target.quiet) dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        leave(*board, run(target.driver, target.path, parsed.program));
      },
      kLongest);
  Result out = read(*board);
  if (!end.empty()) out.problem = end;
  return out;
}

std::string annotated(const std::string& text, const Result& result) {
  std::istringstream lines(text);
  std::string out;
  std::size_t statement = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string call = line.substr(0, line.find("  #"));
    const bool made = call.find('(') != std::string::npos;
    out += call;
    if (made && statement < result.notes.size()) out += "  # " + result.notes[statement];
    if (made) ++statement;
    out += '\n';
  }
  return out;
}

}  // namespace cuvmm::fuzz::flight
