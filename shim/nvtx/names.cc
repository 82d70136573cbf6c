// SPDX-License-Identifier: Apache-2.0
#include "shim/nvtx/names.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "shim/base/owned_mutex.h"

namespace cuvmm::shim::nvtx {

namespace {

constexpr std::size_t kMostTexts = 1 << 16;
constexpr std::size_t kMostCharacters = 200;

// Only one of the two is in use: all handles are cuvmm's, or all are another tool's.
struct Texts {
  std::unordered_map<std::string, const std::string*> copies;
  std::unordered_map<const void*, std::string> others;
};

constinit OwnedMutex g_texts_mutex;
constinit std::atomic<bool> g_others{false};

// Never destroyed, because handles stay valid.
Texts& texts() {
  static Texts* const kTexts = new Texts;
  return *kTexts;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

}  // namespace

std::string_view bounded(const char* text) {
  return text ? std::string_view(text, ::strnlen(text, kMostCharacters)) : std::string_view();
}

std::string narrow(const wchar_t* text) {
  std::string out;
  for (std::size_t i = 0; text && i < kMostCharacters && text[i]; ++i)
    append_utf8(out, static_cast<std::uint32_t>(text[i]));
  return out;
}

const void* register_text(std::string text) {
  const Locked lock(g_texts_mutex);
  const auto known = texts().copies.find(text);
  if (known != texts().copies.end()) return known->second;
  if (texts().copies.size() >= kMostTexts) return nullptr;
  const auto* const stored = new std::string(text);
  texts().copies.emplace(std::move(text), stored);
  return stored;
}

void register_text_as(const void* handle, std::string text) {
  const Locked lock(g_texts_mutex);
  if (texts().others.size() < kMostTexts) texts().others[handle] = std::move(text);
  g_others.store(true, std::memory_order_relaxed);
}

std::string_view message_text(std::int32_t type, const Message& message, std::string& buffer) {
  if (type == kAscii) return bounded(message.ascii);
  if (type == kUnicode) return buffer = narrow(message.wide);
  if (type != kRegistered || !message.registered) return {};
  if (!g_others.load(std::memory_order_relaxed))
    return *static_cast<const std::string*>(message.registered);
  const Locked lock(g_texts_mutex);
  const auto known = texts().others.find(message.registered);
  return buffer = known == texts().others.end() ? std::string() : known->second;
}

}  // namespace cuvmm::shim::nvtx
