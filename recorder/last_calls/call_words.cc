// SPDX-License-Identifier: Apache-2.0
#include "recorder/last_calls/call_words.h"

namespace cuvmm::last_calls {

namespace {

// Cuts off text that is too long; the bytes behind a shorter text stay 0.
template <std::size_t N>
void put(char (&place)[N], const char* text) {
  for (std::size_t i = 0; i < N && text[i] != '\0'; ++i) place[i] = text[i];
}

void fill(EntryRow& row, const char* name, const detail::Parameter* parameters,
          const detail::Choice& choice) {
  put(row.name, name);
  for (std::size_t i = 0; i < choice.count; ++i) {
    const detail::Parameter& parameter = parameters[choice.parameter[i]];
    put(row.words[i], parameter.name);
    row.kinds[i] = detail::word_kind(parameter.kind);
  }
}

}  // namespace

void fill_rows(EntryRow (&rows)[kEntries]) noexcept {
  static_assert(static_cast<std::size_t>(EntryPoint::kCount) <= kEntries);
#define CUVMM_ENTRY(Name, ...)                                                           \
  fill(rows[static_cast<std::size_t>(EntryPoint::k##Name)], "cu" #Name, detail::k##Name, \
       detail::kChoice<EntryPoint::k##Name>);
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name)
#include "api/entry_points.def"
}

}  // namespace cuvmm::last_calls
