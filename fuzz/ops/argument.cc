// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/argument.h"

namespace cuvmm::fuzz {

std::string WrittenNames::name(NameKind kind, std::uint8_t number) {
  constexpr char kPrefix[kNameKinds] = {'?', 'r', 'h', 'd', 'x', 'o', 's',
                                        'e', 'a', 'm', 't', 'v', 'g', 'w'};
  return kPrefix[static_cast<std::size_t>(kind)] + std::to_string(number);
}

std::string WrittenNames::text(NameKind kind, std::uint8_t number) const {
  return bound[static_cast<std::size_t>(kind)][number] ? name(kind, number) : std::string();
}

std::uint8_t ReadNames::find(NameKind kind, const std::string& text) const {
  const auto& names = names_[static_cast<std::size_t>(kind)];
  const auto found = names.find(text);
  return found == names.end() ? std::uint8_t{0} : found->second;
}

std::uint8_t ReadNames::bind(NameKind kind, const std::string& text) {
  if (text.empty()) return 1;
  if (const std::uint8_t known = find(kind, text)) return known;
  auto& names = names_[static_cast<std::size_t>(kind)];
  const auto taken = [&](unsigned n) {
    for (const auto& [other, number] : names) {
      if (number == n) return true;
    }
    return false;
  };
  unsigned wish = 0;
  for (std::size_t i = 1; i < text.size() && wish < 256; ++i) {
    if (text[i] >= '0' && text[i] <= '9') wish = wish * 10 + static_cast<unsigned>(text[i] - '0');
  }
  if (wish == 0 || wish > 255 || taken(wish)) {
    for (wish = 1; wish < 255 && taken(wish);) ++wish;
  }
  return names[text] = static_cast<std::uint8_t>(wish);
}

std::uint64_t Argued::number() const {
  return value_ && !null() ? state_.resolver.number(*value_, words_) : 0;
}

std::uint8_t Argued::reference(NameKind kind) const {
  const Value* v = value_;
  if (v && v->kind == Value::Kind::kSum && !v->parts.empty()) v = &v->parts.front().value;
  return v && v->kind == Value::Kind::kName ? state_.names.find(kind, v->text) : std::uint8_t{0};
}

void Argued::split(std::uint8_t& granules, std::uint8_t& odd, const char* what) const {
  if (!fuzz::split(number(), granules, odd)) refuse(what);
}

}  // namespace cuvmm::fuzz
