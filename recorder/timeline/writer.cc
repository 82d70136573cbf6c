// SPDX-License-Identifier: Apache-2.0
#include "recorder/timeline/writer.h"

#include "recorder/timeline/store.h"

namespace cuvmm::timeline {

struct Writer::Rest {
  Store store;
  std::string folder;
  Event first = {};  // takes the first event until the file is open
};

Writer::Writer() noexcept = default;
Writer::~Writer() = default;

Writer::Rest& Writer::rest() {
  if (!rest_) rest_ = std::make_unique<Rest>();
  return *rest_;
}

bool Writer::is_open() const noexcept { return rest_ && rest_->store.is_open(); }

const Image* Writer::image() const noexcept { return rest_ ? rest_->store.image() : nullptr; }

void Writer::choose(const std::string& folder) {
  if (folder.empty()) return leave();
  rest().folder = folder;
  if (!is_open()) wait_for_first();
}

int Writer::open(const std::string& path) {
  const int error = rest().store.open(path);
  if (error == 0) go_on(0);
  return error;
}

void Writer::wait_for_first() noexcept {
  next_ = &rest_->first;
  stop_ = next_ + 1;
  round_ = 0;
}

void Writer::go_on(std::uint64_t n) noexcept {
  const Store& store = rest_->store;
  next_ = store.place(n);
  stop_ = next_ + (store.due() - n);
  round_ = std::uint64_t{round_of(n)} << 32;
}

void Writer::milestone() noexcept {
  Store& store = rest_->store;
  if (!store.is_open()) {
    // Without a file, the report has no timeline of this process.
    if (!store.open_in(rest_->folder)) return leave();
    Event& first = *store.place(0);
    first = rest_->first;
    __atomic_store_n(&first.round, round_of(0), __ATOMIC_RELEASE);
  }
  const std::uint64_t events = store.due();
  if (!store.tend()) return leave();
  go_on(events);
}

std::uint64_t Writer::events() const noexcept {
  return is_open() ? rest_->store.due() - static_cast<std::uint64_t>(stop_ - next_) : 0;
}

void Writer::undo(std::uint64_t call, std::uint32_t thread, std::uint64_t ticks) noexcept {
  if (!is_open()) return;
  rest_->store.take_back(events(), call);
  const Origin by{call, 0, thread};
  add(What::kUndone, Object::kReservation, 0, {}, by, ticks);
}

bool Writer::gap(std::uint64_t& last_before, std::uint64_t& first_after) const noexcept {
  const std::uint64_t all = events();
  if (all <= kFirstEvents + kLastEvents) return false;
  last_before = rest_->store.place(kFirstEvents - 1)->by.call;
  first_after = rest_->store.place(all)->by.call;
  return true;
}

void Writer::finish() noexcept {
  if (is_open()) rest_->store.finish(events());
}

bool Writer::finished() const noexcept { return rest_ && rest_->store.finished(); }

void Writer::leave() noexcept {
  next_ = nullptr;
  if (rest_) rest_->store.close();
}

void Writer::restart_in_child() noexcept {
  leave();
  if (rest_ && !rest_->folder.empty()) wait_for_first();
}

}  // namespace cuvmm::timeline
