// SPDX-License-Identifier: Apache-2.0
// Child processes for questions that may crash or hang. Each child asks one thing, and sends the
// facts that it learns to its parent, line by line.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::doctor {

/// "device.0", the prefix of the names of a device's facts.
inline std::string device_key(int device) { return "device." + std::to_string(device); }

/// The facts of a child: "device.0.name" -> "NVIDIA H200".
class Facts {
 public:
  void set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  void set(const std::string& key, long long value) { set(key, std::to_string(value)); }
  bool has(const std::string& key) const { return values_.contains(key); }
  std::string text(const std::string& key) const;                 ///< "" if not known
  std::optional<long long> number(const std::string& key) const;  ///< nothing if not known

 private:
  std::map<std::string, std::string> values_;
};

/// The end of a child, and all that it had sent.
struct Ended {
  enum class How { kNotStarted, kExited, kKilled, kTimeout };
  How how = How::kNotStarted;
  int code = 0;  ///< exit code, signal, or errno of fork()
  Facts facts;
  std::string step;         ///< the last step that it announced, e.g. "cuInit"
  std::string first_error;  ///< the first line that it wrote to stderr
  double seconds = 0;       ///< run time of the child

  bool whole() const { return how == How::kExited && code == 0; }
  /// "" for a child that ended by itself; else "ended by signal 11 (Segmentation fault) in cuInit".
  std::string accident() const;
};

/// Sends steps and facts from a child to its parent.
class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}
  /// Announces the next step, so that the parent can name the place of a crash or hang.
  void step(std::string_view what) const { line("step", what); }
  void fact(const std::string& key, std::string_view value) const { line(key, value); }
  void fact(const std::string& key, long long value) const { line(key, std::to_string(value)); }

 private:
  void line(std::string_view key, std::string_view value) const;
  int fd_;
};

class Children {
 public:
  /// Forks, so the caller must have only one thread. `work` runs in the child, whose stdin and
  /// stdout are /dev/null. A child that crashes leaves no core file.
  void start(const std::string& name, const std::function<void(const Reporter&)>& work);

  /// Waits until all children have ended. Kills a child that runs for longer than `limit`.
  std::map<std::string, Ended> wait(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::string name;
    pid_t pid = -1;
    int channel = -1;  ///< read end
    int errors = -1;   ///< a memfd, its stderr
    Clock::time_point start;
    std::string unread;  ///< an unfinished line
    Ended ended;
    bool over = false;
  };
  static void take_lines(Child& child);
  static void finish(Child& child);

  std::vector<Child> children_;
};

}  // namespace cuvmm::doctor
