// SPDX-License-Identifier: Apache-2.0
#include "tools/work/shard.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>

#include "api/posix/whole_file.h"
#include "tools/base/atomic_file.h"

namespace cuvmm::tools {

namespace fs = std::filesystem;

namespace {

std::size_t findings(const std::vector<UnitResult>& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [](const UnitResult& each) { return !each.finding.empty(); }));
}

// The file with the units done so far: a line with the stamp, then a line per unit. Each line is
// written as soon as its unit is done.
class Journal {
 public:
  /// Opens the file, and reads the units of an earlier try. Units with another stamp are dropped.
  std::string open(const std::string& path, const Stamp& stamp) {
    path_ = path;
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) return path + ": " + std::strerror(errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0)
      return "another process is at this shard (it holds " + path + ")";
    const std::string head = stamp_json(stamp).dump(-1, ' ', false, kReplace) + "\n";
    const std::string text = whole_file(path).text;
    std::size_t whole = 0;
    if (text.rfind(head, 0) == 0) whole = read(text, head.size());
    // Cuts off an incomplete last line; if the stamp is another driver's, cuts off everything.
    if (::ftruncate(fd_, static_cast<off_t>(whole)) != 0 || ::lseek(fd_, 0, SEEK_END) < 0)
      return path + ": " + std::strerror(errno);
    return whole == 0 ? append(head) : "";
  }
  ~Journal() {
    if (fd_ >= 0) ::close(fd_);
  }
  Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  std::string add(const std::vector<UnitResult>& results) {
    std::string lines;
    for (const UnitResult& each : results) {
      lines += result_json(each).dump(-1, ' ', false, kReplace) + "\n";
      done_[each.unit] = each;
    }
    return append(lines);
  }
  const std::map<std::string, UnitResult>& done() const { return done_; }
  void remove() const { ::unlink(path_.c_str()); }

 private:
  static constexpr auto kReplace = Json::error_handler_t::replace;

  // Reads units from `at` on. Returns the end of the last whole line.
  std::size_t read(const std::string& text, std::size_t at) {
    for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const Json json = Json::parse(text.substr(at, end - at), nullptr, false);
      if (json.is_discarded() || !json.contains("unit") || !json.contains("status")) return at;
      UnitResult result = parse_unit(json);
      std::string unit = result.unit;
      done_[std::move(unit)] = std::move(result);
    }
    return at;
  }

  std::string append(const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t wrote = ::write(fd_, text.data() + at, text.size() - at);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return path_ + ": " + std::strerror(errno);
      at += static_cast<std::size_t>(wrote);
    }
    return "";
  }

  std::string path_;
  int fd_ = -1;
  std::map<std::string, UnitResult> done_;
};

// Looks for the finished file of this shard with this stamp.
bool find_finished(const ShardOrder& order, const fs::path& folder, const Stamp& stamp,
                   ShardEnd& end) {
  const std::string prefix = shard_name(order.job, order.shard) + "-";
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(folder, ignored)) {
    const std::string name = each.path().filename().string();
    if (name.rfind(prefix, 0) != 0 || each.path().extension() != ".json") continue;
    const ReadResult read = parse_result(whole_file(each.path()).text, name);
    if (!read.error.empty() || read.result.stamp != stamp) continue;
    end.file = each.path().string();
    end.already = true;
    end.done = end.units = read.result.results.size();
    end.findings = findings(read.result.results);
    return true;
  }
  return false;
}

// Whether the shard has done the unit. The single unit of a doctor or a bench is done if there are
// any results, because its results have names of their own.
bool finished(const Job& job, const std::map<std::string, UnitResult>& done,
              const std::string& unit) {
  return job.kind == WorkKind::kDoctor || job.kind == WorkKind::kBench ? !done.empty()
                                                                       : done.contains(unit);
}

}  // namespace

ShardEnd run_shard(const WorkTarget& target, const ShardOrder& order, const Stamp& stamp) {
  const auto start = std::chrono::steady_clock::now();
  const fs::path folder = fs::path(order.folder) / shard_folder(order.job, order.shard);
  ShardEnd end;
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) {
    end.error = folder.string() + ": " + problem.message();
    return end;
  }
  if (find_finished(order, folder, stamp, end)) return end;
  Journal journal;
  const std::string name = shard_name(order.job, order.shard);
  end.error = journal.open((folder / (name + "-" + stamp.node + ".part")).string(), stamp);
  // The process that held the journal before may have finished the shard meanwhile.
  if (!end.error.empty() || find_finished(order, folder, stamp, end)) return end;

  std::vector<std::string> left;
  for (std::string& unit : units_of(order.job, order.shard)) {
    ++end.units;
    if (!finished(order.job, journal.done(), unit)) left.push_back(std::move(unit));
  }
  const auto in_time = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return order.time_limit_s <= 0 || passed.count() < order.time_limit_s;
  };
  std::string unwritten;
  bool stopped = false;
  if (!left.empty()) {
    end.error = run_units(target, order.job, left, [&](const std::vector<UnitResult>& results) {
      unwritten = journal.add(results);
      stopped = !in_time();
      return unwritten.empty() && !stopped;
    });
  }
  if (end.error.empty()) end.error = unwritten;

  ShardResult result{order.job, order.shard, stamp, {}};
  for (const auto& [unit, each] : journal.done()) result.results.push_back(each);
  end.done = result.results.size();
  end.findings = findings(result.results);
  const bool whole = std::all_of(left.begin(), left.end(), [&](const std::string& unit) {
    return finished(order.job, journal.done(), unit);
  });
  if (!end.error.empty() || !whole) return end;
  const std::string text = format_result(result);
  end.file = (folder / result_name(result, text)).string();
  end.error = write_whole(end.file, text);
  if (end.error.empty()) journal.remove();
  return end;
}

}  // namespace cuvmm::tools
