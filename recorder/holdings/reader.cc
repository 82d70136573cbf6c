// SPDX-License-Identifier: Apache-2.0
#include "recorder/holdings/reader.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "api/posix/process_start.h"

namespace cuvmm::holdings {

using recorder::load;

namespace {

std::string text(const char (&from)[kTextBytes]) {
  return std::string(from, ::strnlen(from, sizeof from));
}

// False while the slot is empty. Sets `torn` where the slot's sequence stays odd or keeps changing:
// its writer is busy with it, or died while it wrote.
template <class Record>
bool read_slot(const Slot<Record>& slot, Record& record, bool& torn) {
  std::uint64_t words[Slot<Record>::kWords];
  for (int tries = 0; tries < 1000; ++tries) {
    const std::uint64_t before = __atomic_load_n(&slot.sequence, __ATOMIC_ACQUIRE);
    if (before == 0) return false;
    if (before % 2 != 0) continue;
    const std::uint64_t key = load(slot.key);
    for (std::size_t i = 0; i < Slot<Record>::kWords; ++i) {
      words[i] = __atomic_load_n(&slot.words[i], __ATOMIC_ACQUIRE);
    }
    if (load(slot.sequence) != before) continue;
    if (key == 0) return false;
    std::memcpy(static_cast<void*>(&record), words, sizeof record);
    return true;
  }
  torn = true;
  return false;
}

template <class Record>
void read_table(const Slot<Record>* slots, const Header& header, std::vector<Record>& all,
                std::size_t& torn_count) {
  const std::size_t used =
      std::min<std::size_t>(load(header.used[table_number(slots)]), kCapacity<Record>);
  for (std::size_t i = 0; i < used; ++i) {
    Record record;
    bool torn = false;
    if (read_slot(slots[i], record, torn)) all.push_back(record);
    torn_count += torn;
  }
}

template <class Record>
void sort_by_key(std::vector<Record>& all) {
  std::sort(all.begin(), all.end(),
            [](const Record& a, const Record& b) { return key_of(a) < key_of(b); });
}

}  // namespace

std::string View::open(const std::string& path) {
  path_ = path;
  image_ = nullptr;
  recorder::Refusal refusal = file_.open(path, kShape, recorder::RecordedFile::Named::kByOneUser);
  refusal_ = refusal.kind;
  if (refusal_ != recorder::Refusal::Kind::kNone) return std::move(refusal.text);
  image_ = static_cast<const Image*>(file_.map());
  if (image_) return {};
  refusal_ = recorder::Refusal::Kind::kOther;
  return std::strerror(errno);
}

std::string View::program() const { return text(image_->header.file.program); }
std::string View::driver() const { return text(image_->header.file.driver); }
std::string View::visible() const { return text(image_->header.file.visible); }

bool View::alive() const {
  const std::string number = std::to_string(pid());
  return start() != 0 && process_start(number.c_str()) == start();
}

bool View::wanted() const {
  const std::uint64_t run = image_->header.file.run_pid;
  return run != 0 && process_start(std::to_string(run).c_str()) == image_->header.file.run_start;
}

bool View::made_in(std::uint64_t run_pid, std::uint64_t run_start) const {
  return image_->header.file.run_pid == run_pid && image_->header.file.run_start == run_start;
}

bool View::of_here() const {
  const std::uint64_t recorded = image_->header.file.pid_namespace, own = pid_namespace();
  return recorded == 0 || own == 0 || recorded == own;
}

bool View::current() const {
  char now[kTextBytes];
  const std::string link = "/proc/" + std::to_string(pid()) + "/exe";
  const ssize_t length = ::readlink(link.c_str(), now, sizeof now - 1);
  // The link ends with " (deleted)" where the program's file was deleted.
  return length < 0 ||
         std::string_view(now, static_cast<std::size_t>(length)).starts_with(program());
}

Sums View::sums() const {
  Sums sums;
  const auto* const from = reinterpret_cast<const std::uint64_t*>(&image_->header.sums);
  auto* const to = reinterpret_cast<std::uint64_t*>(&sums);
  for (std::size_t i = 0; i < sizeof sums / sizeof *to; ++i) to[i] = load(from[i]);
  return sums;
}

Snapshot View::snapshot() const {
  Snapshot all;
  const Header& header = image_->header;
  all.calls = calls();
  all.sums = sums();
  read_table(image_->reservations, header, all.reservations, all.torn);
  read_table(image_->mappings, header, all.mappings, all.torn);
  read_table(image_->memory, header, all.memory, all.torn);
  read_table(image_->descriptors, header, all.descriptors, all.torn);
  read_table(image_->pieces, header, all.pieces, all.torn);
  read_table(image_->teams, header, all.teams, all.torn);
  all.cut = file_.cut();
  sort_by_key(all.reservations);
  sort_by_key(all.mappings);
  sort_by_key(all.memory);
  sort_by_key(all.descriptors);
  sort_by_key(all.pieces);
  sort_by_key(all.teams);
  return all;
}

std::vector<std::uint64_t> View::stack(std::uint32_t id) const {
  std::vector<std::uint64_t> frames;
  if (id == 0 || id >= kStacks) return frames;
  for (const std::uint64_t& word : image_->stacks[id].frames) {
    const std::uint64_t frame = load(word);
    if (frame == 0) break;
    frames.push_back(frame);
  }
  return frames;
}

std::vector<frames::PythonLine> View::python(std::uint32_t id) const {
  std::vector<frames::PythonLine> lines;
  if (id == 0 || id >= kStacks) return lines;
  for (const std::uint64_t& word : image_->stacks[id].python) {
    const std::uint64_t whole = load(word);
    const std::uint64_t entry = whole & StackSlot::kEntry, number = whole & ~entry;
    if (number == 0 || number >= kPythonLines) break;
    const LineSlot& slot = image_->lines[number];
    lines.push_back({static_cast<std::uint32_t>(number), entry != 0, static_cast<int>(slot.line),
                     name_at(slot.function), name_at(slot.file)});
  }
  return lines;
}

std::string_view View::function(std::uint32_t id) const {
  return id == 0 || id >= kStacks ? std::string_view() : name_at(load(image_->stacks[id].function));
}

std::string_view View::name_at(std::uint64_t at) const {
  if (at == 0 || at >= kNamesBytes) return {};
  return {image_->names + at, ::strnlen(image_->names + at, kNamesBytes - at)};
}

namespace {

// A process that replaced its program by exec may have left several files: the newest one is taken.
std::vector<View> newest_of(std::vector<View> views) {
  std::sort(views.begin(), views.end(), [](const View& a, const View& b) {
    return a.pid() != b.pid() ? a.pid() < b.pid() : a.path() > b.path();
  });
  std::vector<View> newest;
  for (View& view : views) {
    if (newest.empty() || newest.back().pid() != view.pid()) {
      newest.push_back(std::move(view));
    } else if (!view.wanted()) {
      ::unlink(view.path().c_str());
    }
  }
  return newest;
}

// Whether the process that began the file died before it finished it. A process needs less than a
// millisecond; the minute is for pids of another pid namespace, which are not to be seen here.
bool died_making(const std::string& path, const char* name) {
  struct stat status {};
  const bool mine = ::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
  const int pid = std::atoi(name);
  return mine && pid > 0 && ::time(nullptr) - status.st_mtime > 60 &&
         process_start(std::to_string(pid).c_str()) == 0;
}

}  // namespace

std::string unfinished_file_of(int pid, const std::string& folder) {
  std::string found;
  DIR* const names = ::opendir(folder.c_str());
  if (!names) return found;
  const std::string begin = std::to_string(pid) + "-";
  while (const dirent* const entry = ::readdir(names)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(begin) || !name.ends_with(".live")) continue;
    const std::string path = folder + "/" + entry->d_name;
    View view;
    const std::string problem = view.open(path);
    if (view.refusal() == recorder::Refusal::Kind::kUnfinished) found = path + ": " + problem;
  }
  ::closedir(names);
  return found;
}

std::vector<View> open_all(const std::string& folder, std::vector<std::string>& problems) {
  std::vector<View> views;
  DIR* const names = ::opendir(folder.c_str());
  if (!names) {
    if (errno != ENOENT) problems.push_back(folder + ": " + std::strerror(errno));
    return views;
  }
  std::string foreign;
  std::size_t more_foreign = 0;
  while (const dirent* const entry = ::readdir(names)) {
    const std::string path = folder + "/" + entry->d_name;
    if (!path.ends_with(".live")) continue;
    View view;
    const std::string problem = view.open(path);
    using Kind = recorder::Refusal::Kind;
    if (view.refusal() == Kind::kForeign) {
      more_foreign += !foreign.empty();
      if (foreign.empty()) foreign = path + ": " + problem;
    } else if (!problem.empty()) {
      if (view.refusal() == Kind::kUnfinished) {
        if (died_making(path, entry->d_name)) ::unlink(path.c_str());
      } else if (::access(path.c_str(), F_OK) == 0) {
        problems.push_back(path + ": " + problem);
      }
    } else if (!view.of_here()) {
      continue;
    } else if (view.alive()) {
      if (view.current()) views.push_back(std::move(view));
    } else if (!view.wanted()) {
      ::unlink(path.c_str());
    }
  }
  ::closedir(names);
  // After an update of cuvmm, the files of all older processes are foreign; they are reported as
  // one problem.
  if (more_foreign != 0) foreign += "; so are " + std::to_string(more_foreign) + " more";
  if (!foreign.empty()) problems.push_back(std::move(foreign));
  return newest_of(std::move(views));
}

std::vector<View> open_left(const std::string& folder, std::uint64_t run_pid,
                            std::uint64_t run_start, bool all_ended) {
  std::vector<View> views;
  DIR* const names = ::opendir(folder.c_str());
  if (!names) return views;
  while (const dirent* const entry = ::readdir(names)) {
    const std::string path = folder + "/" + entry->d_name;
    View view;
    if (!path.ends_with(".live") || !view.open(path).empty() || !view.made_in(run_pid, run_start))
      continue;
    if (view.of_here() ? !view.alive() : all_ended) views.push_back(std::move(view));
  }
  ::closedir(names);
  return views;
}

}  // namespace cuvmm::holdings
