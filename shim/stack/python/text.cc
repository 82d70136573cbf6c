// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/python/text.h"

#include <algorithm>

#include "shim/stack/python/layout.h"

namespace cuvmm::shim {

namespace {

// Bytes of a character in UTF-8.
std::size_t utf8_size(std::uint32_t character) {
  return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

char* put_utf8(char* out, std::uint32_t character) {
  const std::size_t size = utf8_size(character);
  if (size == 1) {
    *out++ = static_cast<char>(character);
    return out;
  }
  constexpr std::uint32_t kHeads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (std::size_t i = 0; i < size; ++i) {
    const auto shift = static_cast<unsigned>(6 * (size - 1 - i));
    const std::uint32_t bits = character >> shift;
    *out++ = static_cast<char>(i == 0 ? kHeads[size] | bits : 0x80 | (bits & 0x3f));
  }
  return out;
}

// The end of the part of a str that is read before its characters.
constexpr std::size_t kHeaderEnd = PythonLayout::kStringState + sizeof(std::uint32_t);

std::uint32_t harmless(std::uint32_t character) {
  const bool control = character < 0x20 || (0x7f <= character && character < 0xa0);
  const bool half = 0xd800 <= character && character < 0xe000;
  return control || half || character > 0x10ffff ? '?' : character;
}

}  // namespace

bool PythonText::find(GuardedMemory& memory, std::uintptr_t object, std::uintptr_t type,
                      std::uint16_t ascii_size) noexcept {
  constexpr std::size_t kLongest = std::size_t{1} << 20;
  if (!memory.readable(object + PythonLayout::kObjectType,
                       kHeaderEnd - PythonLayout::kObjectType) ||
      GuardedMemory::at<std::uintptr_t>(object + PythonLayout::kObjectType) != type)
    return false;
  length = GuardedMemory::at<std::size_t>(object + PythonLayout::kStringLength);
  const auto state = GuardedMemory::at<std::uint32_t>(object + PythonLayout::kStringState);
  const bool compact = (state >> 5 & 1) != 0, ascii = (state >> 6 & 1) != 0;
  width = static_cast<std::uint8_t>(state >> 2 & 7);
  const bool known = width == 1 || width == 2 || width == 4;
  if (!compact || !known || length > kLongest) return false;
  // Other strings also store their UTF-8; up to 3.11 there is a third member.
  const std::size_t more = ascii_size >= 48 ? 24 : 16;
  data = object + ascii_size + (ascii ? 0 : more);
  return true;
}

bool PythonText::fingerprint(GuardedMemory& memory, std::uintptr_t object, std::uintptr_t type,
                             std::uint16_t ascii_size, std::uint64_t& number) noexcept {
  constexpr std::size_t kEnough = 64;
  PythonText text;
  if (!text.find(memory, object, type, ascii_size)) return false;
  const std::size_t size = text.length * text.width, looked_at = std::min(size, kEnough);
  const std::uintptr_t end = text.data + size, from = end - looked_at;
  if (!GuardedMemory::on_one_page(object + kHeaderEnd - 1, end - 1) &&
      !memory.readable(from, looked_at))
    return false;
  constexpr std::size_t kWord = sizeof number;
  const auto word = &GuardedMemory::at<std::uint64_t>;
  // Each word is multiplied by an odd factor of its own, so that no step waits for the one before.
  std::uint64_t factor = 0x9e3779b97f4a7c15u;
  number = size;
  for (std::size_t i = 0; i + kWord <= looked_at; i += kWord) {
    number += word(from + i) * factor;
    factor += 0x7f4a7c159e3779b8u;
  }
  // The rest of the last word; reading back is safe because the header lies before the characters.
  if (const std::size_t left = looked_at % kWord) {
    number += (word(end - kWord) >> 8 * (kWord - left)) * factor;
  }
  number ^= number >> 29;
  return true;
}

bool PythonText::character(GuardedMemory& memory, std::size_t i,
                           std::uint32_t& value) const noexcept {
  value = 0;
  const std::uintptr_t place = data + i * width;
  if (!memory.readable(place, width)) return false;
  std::memcpy(&value, reinterpret_cast<const void*>(place), width);
  value = harmless(value);
  return true;
}

bool PythonText::copy(GuardedMemory& memory, char* out, std::size_t room) const noexcept {
  constexpr char kCut[] = "...";
  std::uint32_t value = 0;
  // Counts from the end as many characters as fit.
  std::size_t first = length, size = sizeof kCut;  // includes the zero byte
  while (first != 0) {
    if (!character(memory, first - 1, value)) return false;
    if (size + utf8_size(value) > room) break;
    size += utf8_size(value);
    --first;
  }
  if (first != 0) out = std::copy(kCut, kCut + sizeof kCut - 1, out);
  for (std::size_t i = first; i < length; ++i) {
    if (!character(memory, i, value)) return false;
    out = put_utf8(out, value);
  }
  *out = '\0';
  return true;
}

}  // namespace cuvmm::shim
