// SPDX-License-Identifier: Apache-2.0
// Looks at what another process holds, without stopping it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frames/python_line.h"
#include "recorder/holdings/format.h"
#include "recorder/recorded_file.h"
#include "recorder/shared_words.h"

namespace cuvmm::holdings {

/// All objects, each as it was at some moment while they were read.
struct Snapshot {
  std::uint64_t calls = 0;  ///< number of the last call that had changed something
  Sums sums{};
  std::vector<Reservation> reservations;
  std::vector<Mapping> mappings;
  std::vector<MemoryHeld> memory;
  std::vector<Descriptor> descriptors;
  std::vector<Piece> pieces;
  std::vector<Team> teams;
  std::size_t torn = 0;  ///< objects that were being written each time they were looked at
  bool cut = false;      ///< a part of the file is gone, and objects with it
};

/// One process's file, mapped for reading.
class View {
 public:
  /// Why it is none, or "".
  std::string open(const std::string& path);
  /// Of the last open().
  recorder::Refusal::Kind refusal() const { return refusal_; }

  int pid() const { return static_cast<int>(image_->header.file.pid); }
  std::uint64_t start() const { return image_->header.file.start; }
  std::string program() const;
  std::string driver() const;
  /// Which devices its process sees: equal where a device's number means the same.
  std::string visible() const;
  /// Whether its pid means a process here: containers that share /dev/shm have pids of their own.
  bool of_here() const;
  /// Whether its process still lives.
  bool alive() const;
  /// Whether it is of a process of this `cuvmm run`.
  bool made_in(std::uint64_t run_pid, std::uint64_t run_start) const;
  /// Whether the `cuvmm run` lives that judges what its process leaves.
  bool wanted() const;
  /// Whether that is still the program which made the file, and no other one by exec.
  bool current() const;
  std::uint64_t calls() const { return recorder::load(image_->header.calls); }
  /// Reads nothing but these words: as cheap for many objects as for few.
  Sums sums() const;
  Snapshot snapshot() const;
  /// Return addresses of the stack that an Origin names, innermost first; empty where it has none.
  std::vector<std::uint64_t> stack(std::uint32_t id) const;
  /// Its Python functions, innermost first. Names last as long as this view.
  std::vector<frames::PythonLine> python(std::uint32_t id) const;
  const std::string& path() const { return path_; }

 private:
  recorder::RecordedFile file_;
  recorder::Refusal::Kind refusal_ = recorder::Refusal::Kind::kNone;
  const Image* image_ = nullptr;
  std::string path_;
};

/// The files of this folder that are of living processes of this user, by pid. Removes those that a
/// killed process left, unless they are wanted(); those of another pid namespace stay, unseen. What
/// cannot be read is in `problems`, a sentence each.
std::vector<View> open_all(const std::string& folder, std::vector<std::string>& problems);

/// The files of this folder that ended processes of this very `cuvmm run` left, by the run's pid
/// and start. `all_ended`: all of them have ended. Else nobody knows it of those of another pid
/// namespace, and they are left out.
std::vector<View> open_left(const std::string& folder, std::uint64_t run_pid,
                            std::uint64_t run_start, bool all_ended);

}  // namespace cuvmm::holdings
