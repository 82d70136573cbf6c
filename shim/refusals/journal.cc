// SPDX-License-Identifier: Apache-2.0
#include "shim/refusals/journal.h"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <new>
#include <utility>

#include "shim/base/in_flight.h"

namespace cuvmm::shim {

namespace {

constexpr std::chrono::milliseconds kPatienceForJournal{20};

// Parses "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuDeviceGetAttribute"; result 0: another
// sentence.
struct Verdict {
  int result = 0;
  std::string_view function;
};

Verdict verdict_of(std::string_view sentence) {
  constexpr std::string_view kStart = "Returning ", kFrom = " from ";
  const std::size_t from = sentence.rfind(kFrom);
  if (!sentence.starts_with(kStart) || from == sentence.npos) return {};
  Verdict verdict{0, sentence.substr(from + kFrom.size())};
  const char* const number = sentence.data() + kStart.size();
  std::from_chars(number, sentence.data() + from, verdict.result);
  return verdict;
}

// The log's files have "[time][thread][CUDA][E] " before a sentence.
std::string_view without_fields(std::string_view line) {
  while (line.starts_with('[') && line.find(']') != line.npos) {
    line.remove_prefix(line.find(']') + 1);
  }
  const std::size_t start = line.find_first_not_of(' ');
  line.remove_prefix(start == line.npos ? line.size() : start);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\0')) line.remove_suffix(1);
  return line;
}

}  // namespace

bool is_same_function(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  const std::string_view rest = b.starts_with(a) ? b.substr(a.size()) : "?";
  return rest.empty() || rest.starts_with("_v") || rest.starts_with("_pt");
}

// The first four say nothing about the call: there is no driver, or it has not begun, or it has
// ended.
bool is_only_an_answer(std::string_view function, CUresult result) {
  constexpr CUresult kNothing[] = {CUDA_ERROR_NOT_INITIALIZED,
                                   CUDA_ERROR_DEINITIALIZED,
                                   CUDA_ERROR_NO_DEVICE,
                                   CUDA_ERROR_NOT_READY,
                                   CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                                   CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE};
  if (std::ranges::find(kNothing, result) != std::end(kNothing)) return true;
  constexpr std::string_view kQuestions[] = {"cuPointerGet", "cuGetProcAddress", "cuGetExportTable",
                                             "cuGetError",   "cuCtxGet",         "cuLogs"};
  if (std::ranges::any_of(kQuestions, [&](auto name) { return function.starts_with(name); })) {
    return true;
  }
  return result == CUDA_ERROR_NOT_FOUND &&
         (function.starts_with("cuModuleGet") || function.starts_with("cuLibraryGet"));
}

template <std::size_t size>
void Journal::Text<size>::set(std::string_view text) {
  length = std::min(text.size(), size);
  std::copy_n(text.data(), length, bytes);
}

void Journal::hear(void* journal, int, char* message, std::size_t length) noexcept {
  // Skips two kinds of calls: the session knows more of checked calls, and some calls are cuvmm's
  // own questions.
  if (!message || in_flight() || t_state.on_own_stack) return;
  const std::string_view text(message, std::find(message, message + length, '\0') - message);
  const int saved = errno;
  static_cast<Journal*>(journal)->note(without_fields(text), ::pthread_self(), CUVMM_CALLER);
  errno = saved;
}

void Journal::note(std::string_view sentence, std::uint64_t thread, const Caller& caller) noexcept {
  const Verdict verdict = verdict_of(sentence);
  if (!mutex_.lock_within(kPatienceForJournal)) return;
  const Locked lock(mutex_, kHeldAlready);
  auto begun = std::ranges::find(begun_, thread, &Begun::thread);
  if (verdict.result == 0) {
    if (begun == begun_.end()) begun = begun_.begin() + oldest_++ % begun_.size();
    begun->thread = thread;
    return begun->sentence.set(sentence);
  }
  std::string_view begun_text;
  if (begun != begun_.end()) {
    begun_text = begun->sentence.view();
    begun->thread = 0;
  }
  const auto result = static_cast<CUresult>(verdict.result);
  if (is_only_an_answer(verdict.function, result)) return;
  Entry* const entry = count_in(verdict.function, result, {});
  if (!entry) return;
  if (entry->count == 1) {
    entry->sentence.set(begun_text);
    entry->stack = capture_stack(caller);
    entry->in_driver = true;
  }
  auto logged = std::ranges::find(logged_, thread, &LoggedCall::thread);
  if (logged == logged_.end()) logged = logged_.begin() + oldest_logged_++ % logged_.size();
  *logged = {thread, static_cast<std::size_t>(entry - entries_.data())};
}

Journal::Entry* Journal::count_in(std::string_view function, CUresult result,
                                  std::string_view known) {
  for (Entry& entry : entries_) {
    if (entry.count == 0) {
      entry.function.set(function);
      entry.result = result;
      entry.sentence.set({});
      entry.known.set(known);
      entry.stack = 0;
    } else if (entry.result != result || !is_same_function(entry.function.view(), function) ||
               entry.known.view() != known.substr(0, sizeof entry.known.bytes)) {
      continue;
    }
    ++entry.count;
    return &entry;
  }
  return nullptr;
}

void Journal::add(std::string_view function, CUresult result, std::string_view known,
                  std::uint64_t thread, const Caller& caller) noexcept {
  if (!mutex_.lock_within(kPatienceForJournal)) return;
  const Locked lock(mutex_, kHeldAlready);
  const auto logged = std::ranges::find(logged_, thread, &LoggedCall::thread);
  if (logged != logged_.end()) {
    logged->thread = 0;
    Entry& entry = entries_[logged->entry];
    const bool same = entry.count != 0 && entry.result == result &&
                      is_same_function(entry.function.view(), function);
    if (same && entry.count == 1) {
      entry.known.set(known);
      entry.stack = capture_stack(caller);
      entry.in_driver = false;
      return;
    }
    if (same && known.empty()) return;
    if (same) --entry.count;
  }
  Entry* const entry = count_in(function, result, known);
  if (!entry || entry->count != 1) return;
  entry->stack = capture_stack(caller);
  entry->in_driver = false;
}

std::vector<UncheckedRefusal> Journal::take() {
  std::vector<UncheckedRefusal> taken;
  taken.reserve(kMost);
  if (!mutex_.lock_within(kPatienceForJournal)) return taken;
  const Locked lock(mutex_, kHeldAlready);
  for (Entry& entry : entries_) {
    if (entry.count == 0) break;
    taken.push_back({std::string(entry.function.view()), entry.result,
                     std::string(entry.sentence.view()), std::string(entry.known.view()),
                     entry.stack, entry.in_driver, entry.count});
    entry.count = 0;
  }
  logged_ = {};
  return taken;
}

void Journal::clear() {
  new (&mutex_) OwnedMutex();
  for (Entry& entry : entries_) entry.count = 0;
  for (Begun& begun : begun_) begun.thread = 0;
  logged_ = {};
}

}  // namespace cuvmm::shim
