// SPDX-License-Identifier: Apache-2.0
#include "recorder/timeline/store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

namespace cuvmm::timeline {

namespace {

constexpr std::size_t kGrowEvents = std::size_t{1} << 14;  // 1 MiB of events
constexpr std::uint64_t kTune = kMostUncounted;
// Each event at which the store has work is a multiple of the numbers that tend() checks.
static_assert(kGrowEvents % kTune == 0 && kFirstEvents % kTune == 0 && kLastEvents % kTune == 0);
static_assert(kTune % kFirstStride == 0);

std::uint64_t next_due(std::uint64_t events, std::uint64_t stride) noexcept {
  if (events < kTune) return std::max<std::uint64_t>(1, 2 * events);
  const std::uint64_t step = events < kFirstEvents ? kTune : std::min(kTune, stride);
  return events / step * step + step;
}

}  // namespace

bool Store::open_in(const std::string& folder) noexcept {
  const int saved = errno;
  bool opened = false;
  try {
    opened = open(recorder::file_in(folder, recorder::Section::kTimeline)) == 0;
  } catch (...) {
  }
  errno = saved;
  return opened;
}

int Store::open(const std::string& path) {
  const int error = file_.create(path, kShape, offsetof(Image, events));
  if (error != 0) return error;
  file_.describe("");
  image_ = static_cast<Image*>(file_.memory());
  Header& header = image_->header;
  header.stride = kFirstStride;
  file_.publish();
  if (!grow(0)) return ENOSPC;
  due_ = next_due(0, header.stride);
  return 0;
}

void Store::close() noexcept {
  if (!image_) return;
  file_.close();
  image_ = nullptr;
  due_ = 0;
  backed_ = 0;
  counted_ = {};
  peak_since_ = 0;
  finished_ = false;
}

// Pages are allocated before they are written (recorder/new_file.cc says why). They enter the page
// tables in one call, because each would cost a fault.
bool Store::grow(std::size_t place) noexcept {
  const std::size_t to = std::min(place + kGrowEvents, kFirstEvents + kLastEvents);
  const std::size_t from = offsetof(Image, events) + backed_ * sizeof(Event);
  const std::size_t bytes = (to - backed_) * sizeof(Event);
  if (!file_.grow(from, bytes)) {
    image_->header.stopped = 1;
    recorder::note_moment(image_->header.file);
    close();
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

// Samples of the first events are left out, because readers compute them.
bool Store::tend() noexcept {
  const std::uint64_t events = due_;
  count_to(events);
  Header& header = image_->header;
  if (events > kFirstEvents && events % header.stride == 0) {
    const Event& last = *place(events - 1);
    add_sample(last.ticks, last.by.call);
  }
  if (events % kTune == 0 || (events & (events - 1)) == 0) {
    const std::size_t next = place_of(events);
    if (next >= backed_ && !grow(next)) return false;
    recorder::note_moment(image_->header.file);
  }
  due_ = next_due(events, header.stride);
  return true;
}

void Store::count_to(std::uint64_t events) noexcept {
  while (counted_.events < events) {
    peak_since_ = std::max(peak_since_, count(counted_, *place(counted_.events)));
  }
  publish();
}

void Store::publish() noexcept {
  Header& header = image_->header;
  const std::uint64_t other = 1 - header.newest;
  header.counts[other] = counted_;
  __atomic_store_n(&header.newest, other, __ATOMIC_RELEASE);
}

// Other threads have made few calls since this call went to the driver, so its events are near the
// end.
void Store::take_back(std::uint64_t events, std::uint64_t call) noexcept {
  constexpr std::uint64_t kLook = 4096;
  count_to(events);
  bool found = false;
  for (std::uint64_t n = events, left = std::min(events, kLook); left > 0; --left) {
    const Event& event = *place(--n);
    // The events of one call stand together.
    if (found && event.by.call != call) break;
    found = event.by.call == call;
    if (found) sum(counted_.sums, event, true);
  }
  publish();
}

void Store::finish(std::uint64_t events) noexcept {
  finished_ = true;
  count_to(events);
  recorder::note_moment(image_->header.file);
  if (events > kFirstEvents) add_sample(image_->header.file.last.ticks, place(events - 1)->by.call);
}

void Store::add_sample(std::uint64_t ticks, std::uint64_t call) noexcept {
  Header& header = image_->header;
  if (header.samples == kSamples) {
    // The later of two neighbours stays, with the higher of both peaks.
    for (std::size_t i = 0; i < kSamples / 2; ++i) {
      const std::uint64_t peak = image_->samples[2 * i].peak;
      image_->samples[i] = image_->samples[2 * i + 1];
      image_->samples[i].peak = std::max(image_->samples[i].peak, peak);
    }
    header.samples = kSamples / 2;
    header.stride *= 2;
  }
  image_->samples[header.samples] = {ticks, call, peak_since_, counted_.sums};
  ++header.samples;
  peak_since_ = physical(counted_.sums);
}

}  // namespace cuvmm::timeline
