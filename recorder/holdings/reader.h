// SPDX-License-Identifier: Apache-2.0
// Reads the objects that another process holds, without stopping that process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frames/python_line.h"
#include "recorder/holdings/format.h"
#include "recorder/recorded_file.h"
#include "recorder/shared_words.h"

namespace cuvmm::holdings {

/// All objects of a process, each as it was at some moment during the reading.
struct Snapshot {
  std::uint64_t calls = 0;  ///< number of the last call that had changed an object
  Sums sums{};
  std::vector<Reservation> reservations;
  std::vector<Mapping> mappings;
  std::vector<MemoryHeld> memory;
  std::vector<Descriptor> descriptors;
  std::vector<Piece> pieces;
  std::vector<Team> teams;
  std::size_t torn = 0;  ///< objects that the writer was changing at each try
  bool cut = false;      ///< somebody cut the file off, so objects may be missing
};

/// One process's file, mapped for reading.
class View {
 public:
  /// Returns why the file cannot be read, or "".
  std::string open(const std::string& path);
  /// The kind of the last open()'s error.
  recorder::Refusal::Kind refusal() const { return refusal_; }

  int pid() const { return static_cast<int>(image_->header.file.pid); }
  std::uint64_t start() const { return image_->header.file.start; }
  std::string program() const;
  std::string driver() const;
  /// The CUDA_VISIBLE_DEVICES of the process. Where two processes have equal texts, a device's
  /// number means the same device in both.
  std::string visible() const;
  /// Whether the pid means a process in this pid namespace: containers that share /dev/shm have
  /// pids of their own.
  bool of_here() const;
  /// Whether the process still lives.
  bool alive() const;
  /// Whether this `cuvmm run` started the process.
  bool made_in(std::uint64_t run_pid, std::uint64_t run_start) const;
  /// Whether the `cuvmm run` that started the process, and reports the objects that the process
  /// leaves, still lives.
  bool wanted() const;
  /// Whether the process still runs the program that made the file, and did not replace it by exec.
  bool current() const;
  std::uint64_t calls() const { return recorder::load(image_->header.calls); }
  /// Reads only the sums, so the cost does not grow with the number of objects.
  Sums sums() const;
  Snapshot snapshot() const;
  /// The return addresses of the stack that an Origin names, innermost first; empty where it names
  /// none.
  std::vector<std::uint64_t> stack(std::uint32_t id) const;
  /// The Python functions of that stack, innermost first. Their names live as long as this view.
  std::vector<frames::PythonLine> python(std::uint32_t id) const;
  /// The function of the driver that the stack called when the file learnt of it; "" if unknown.
  std::string_view function(std::uint32_t id) const;
  const std::string& path() const { return path_; }

 private:
  std::string_view name_at(std::uint64_t at) const;

  recorder::RecordedFile file_;
  recorder::Refusal::Kind refusal_ = recorder::Refusal::Kind::kNone;
  const Image* image_ = nullptr;
  std::string path_;
};

/// The files in this folder of living processes of this user, by pid. Removes the files of killed
/// processes, unless they are wanted(), and files that a process of this user began more than a
/// minute ago and died before it finished them. Skips the files of another pid namespace. Adds a
/// sentence to `problems` for each file that cannot be read.
std::vector<View> open_all(const std::string& folder, std::vector<std::string>& problems);

/// "FILE: it is empty" for a file in this folder that the process with this pid has not finished
/// making, or that somebody has emptied since; "" if there is none.
std::string unfinished_file_of(int pid, const std::string& folder);

/// The files in this folder that ended processes of this `cuvmm run` left; `run_pid` and
/// `run_start` name the run. `all_ended`: all processes of the run have ended. Otherwise files of
/// another pid namespace are left out, because their processes may live.
std::vector<View> open_left(const std::string& folder, std::uint64_t run_pid,
                            std::uint64_t run_start, bool all_ended);

}  // namespace cuvmm::holdings
