// SPDX-License-Identifier: Apache-2.0
#include "live/timeline_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "api/posix/cancel_off.h"
#include "ring/writer.h"

namespace cuvmm::live {

namespace {

constexpr std::size_t kGrowEvents = std::size_t{1} << 14;  // a MiB
constexpr std::uint64_t kTune = 1024;
// Every place where something is to be done is a multiple of what is looked at.
static_assert(kGrowEvents % kTune == 0 && kFirstEvents % kTune == 0 && kLastEvents % kTune == 0);
static_assert(kTune % kFirstStride == 0);

std::uint64_t next_milestone(std::uint64_t events, std::uint64_t stride) noexcept {
  if (events < kTune) return std::max<std::uint64_t>(1, 2 * events);
  const std::uint64_t step = events < kFirstEvents ? kTune : std::min(kTune, stride);
  return events / step * step + step;
}

std::uint64_t now_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// A larger file would raise SIGXFSZ.
bool timeline_fits() noexcept {
  rlimit file{};
  return ::getrlimit(RLIMIT_FSIZE, &file) != 0 || file.rlim_cur >= sizeof(TimelineImage);
}

}  // namespace

int TimelineWriter::open(const std::string& path) {
  const CancelOff no_cancel;
  if (!timeline_fits()) return EFBIG;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return errno;
  int error = ::ftruncate(fd, sizeof(TimelineImage)) == 0 ? 0 : errno;
  backing_.start(path, fd);
  if (error == 0 && !backing_.grow(0, offsetof(TimelineImage, events))) error = ENOSPC;
  void* memory = MAP_FAILED;
  if (error == 0) {
    memory = ::mmap(nullptr, sizeof(TimelineImage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  ::close(fd);
  if (error != 0) {
    ::unlink(path.c_str());
    return error;
  }
  image_ = static_cast<TimelineImage*>(memory);
  TimelineHeader& header = image_->header;
  header.layout = kTimelineLayout;
  header.pid = static_cast<std::uint64_t>(::getpid());
  header.stride = kFirstStride;
  header.first_ticks = ring::now_ticks();
  header.first_ns = now_ns(CLOCK_BOOTTIME);
  header.first_unix_ns = now_ns(CLOCK_REALTIME);
  const ssize_t length = ::readlink("/proc/self/exe", header.program, sizeof header.program - 1);
  if (length < 0) header.program[0] = '\0';
  __atomic_store_n(&header.magic, kTimelineMagic, __ATOMIC_RELEASE);
  if (!grow(0)) return ENOSPC;
  next_ = image_->events;
  milestone_ = 1;
  return 0;
}

void TimelineWriter::note_time() noexcept {
  if (!image_) return;
  image_->header.last_ticks = ring::now_ticks();
  image_->header.last_ns = now_ns(CLOCK_BOOTTIME);
}

// Pages are asked for before they are written (live/writer.cc says why), and entered into the page
// tables in one go: each would cost a fault.
bool TimelineWriter::grow(std::size_t place) noexcept {
  const std::size_t to = std::min(place + kGrowEvents, kFirstEvents + kLastEvents);
  const std::size_t from = offsetof(TimelineImage, events) + backed_ * sizeof(TimelineEvent);
  const std::size_t bytes = (to - backed_) * sizeof(TimelineEvent);
  if (!backing_.grow(from, bytes)) {
    image_->header.stopped = 1;
    note_time();
    leave();
    return false;
  }
  const int saved = errno;
#ifdef MADV_POPULATE_WRITE
  ::madvise(reinterpret_cast<char*>(image_) + from, bytes, MADV_POPULATE_WRITE);
#endif
  errno = saved;
  backed_ = to;
  return true;
}

// Of the first events, their readers make the sums.
void TimelineWriter::milestone(std::uint64_t events, std::uint64_t ticks,
                               std::uint64_t call) noexcept {
  TimelineHeader& header = image_->header;
  if (events % kTune == 0 || (events & (events - 1)) == 0) {
    const std::size_t place = timeline_place(events);
    if (place >= backed_ && !grow(place)) return;
    next_ = image_->events + place;
    note_time();
  }
  if (events > kFirstEvents && events % header.stride == 0) add_sample(ticks, call);
  milestone_ = next_milestone(events, header.stride);
}

void TimelineWriter::finish() noexcept {
  if (!image_) return;
  note_time();
  const TimelineHeader& header = image_->header;
  if (header.events > kFirstEvents) {
    add_sample(header.last_ticks, image_->events[timeline_place(header.events - 1)].call);
  }
}

void TimelineWriter::add_sample(std::uint64_t ticks, std::uint64_t call) noexcept {
  TimelineHeader& header = image_->header;
  if (header.samples == kSamples) {
    // Of two neighbours the later one stays, with the higher peak of both.
    for (std::size_t i = 0; i < kSamples / 2; ++i) {
      const std::uint64_t peak = image_->samples[2 * i].peak;
      image_->samples[i] = image_->samples[2 * i + 1];
      image_->samples[i].peak = std::max(image_->samples[i].peak, peak);
    }
    header.samples = kSamples / 2;
    header.stride *= 2;
  }
  image_->samples[header.samples] = {ticks, call, peak_since_, sums_};
  ++header.samples;
  peak_since_ = physical_;
}

void TimelineWriter::new_peak(std::uint64_t ticks, std::uint64_t call) noexcept {
  peak_since_ = physical_;
  TimelineHeader& header = image_->header;
  if (physical_ <= header.peak) return;
  header.peak = physical_;
  header.peak_ticks = ticks;
  header.peak_call = call;
}

// Other threads have hardly made more calls than that since this one asked the driver.
void TimelineWriter::undo(std::uint64_t call, std::uint32_t thread) noexcept {
  if (!image_) return;
  constexpr std::uint64_t kLook = 4096;
  const std::uint64_t events = image_->header.events;
  bool found = false;
  for (std::uint64_t n = events, left = std::min(events, kLook); left > 0; --left) {
    const TimelineEvent& event = image_->events[timeline_place(--n)];
    // They were written in one go.
    if (found && event.call != call) break;
    found = event.call == call;
    if (found) count(event, true);
  }
  TimelineEvent undone{};
  undone.call = call;
  undone.thread = thread;
  undone.what = TimelineWhat::kUndone;
  add(undone);
}

bool TimelineWriter::gap(std::uint64_t& last_before, std::uint64_t& first_after) const noexcept {
  if (!image_ || image_->header.events <= kFirstEvents + kLastEvents) return false;
  last_before = image_->events[kFirstEvents - 1].call;
  first_after = image_->events[timeline_place(image_->header.events)].call;
  return true;
}

void TimelineWriter::leave() noexcept {
  if (!image_) return;
  ::munmap(image_, sizeof(TimelineImage));
  image_ = nullptr;
  next_ = nullptr;
  backed_ = 0;
  sums_ = {};
  physical_ = peak_since_ = 0;
}

}  // namespace cuvmm::live
