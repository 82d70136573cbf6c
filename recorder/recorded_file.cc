// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorded_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "api/posix/lost_pages.h"

namespace cuvmm::recorder {

namespace {

Refusal foreign(std::string text) { return {Refusal::Kind::kForeign, std::move(text)}; }
Refusal refused(std::string text) { return {Refusal::Kind::kOther, std::move(text)}; }

std::string_view words(Section section) {
  switch (section) {
    case Section::kLastCalls:
      return "a process's last calls";
    case Section::kHoldings:
      return "what a process holds";
    case Section::kTimeline:
      return "a process's timeline";
  }
  return "something else";
}

// Before version 1 each section had its own format.
bool is_of_earlier_cuvmm(const char* begin) {
  for (const std::string_view magic : {"cuvmmRNG", "cuvmmLIV", "cummTIME"}) {
    if (std::memcmp(begin, magic.data(), magic.size()) == 0) return true;
  }
  return false;
}

}  // namespace

Refusal judge_header(std::span<const std::byte> bytes, const Shape& shape) {
  if (bytes.empty()) return {Refusal::Kind::kUnfinished, "it is empty"};
  char begin[8] = {};
  if (bytes.size() >= sizeof begin) std::memcpy(begin, bytes.data(), sizeof begin);
  std::uint64_t magic = 0;
  std::memcpy(&magic, begin, sizeof magic);
  if (is_of_earlier_cuvmm(begin)) {
    return foreign("an earlier cuvmm wrote it, in a format that this one does not read");
  }
  if (bytes.size() < sizeof begin || (magic != kMagic && magic != 0)) {
    return foreign("it is no file of cuvmm's recorder: it does not begin with \"cuvmmREC\"");
  }
  if (bytes.size() < sizeof(FileHeader)) return refused("it is cut off in its header");
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (magic == 0) return {Refusal::Kind::kUnfinished, "its process has not finished making it"};
  if (header.version != kVersion) {
    return foreign("it is of version " + std::to_string(header.version) +
                   " of the format, and this cuvmm reads " + std::to_string(kVersion));
  }
  if (header.section != static_cast<std::uint64_t>(shape.section)) {
    return foreign("it holds " + std::string(words(static_cast<Section>(header.section))) +
                   ", not " + std::string(words(shape.section)));
  }
  if (header.layout != shape.layout) return foreign("another build of cuvmm wrote it");
  if (header.file_bytes != shape.bytes) return refused("its header is damaged");
  return {};
}

RecordedFile::RecordedFile(RecordedFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      bytes_(other.bytes_),
      memory_(std::exchange(other.memory_, nullptr)) {}

RecordedFile& RecordedFile::operator=(RecordedFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(memory_, other.memory_);
  return *this;
}

RecordedFile::~RecordedFile() {
  if (file_ >= 0) ::close(file_);
  if (!memory_) return;
  ::munmap(const_cast<void*>(memory_), bytes_);
  forget_pages(memory_);
}

Refusal RecordedFile::open(const std::string& path, const Shape& shape, Named named) {
  *this = RecordedFile();
  // O_NONBLOCK, because opening a pipe would wait for a writer for ever.
  const int links = named == Named::kByPerson ? 0 : O_NOFOLLOW;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | links);
  if (fd < 0) return refused(std::strerror(errno));
  file_ = fd;
  bytes_ = shape.bytes;
  struct stat status {};
  if (::fstat(fd, &status) != 0) return refused(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refused("it is no regular file");
  const bool mine = status.st_uid == ::geteuid() || ::geteuid() == 0;
  if (named == Named::kByOneUser && !mine) return refused("it belongs to another user");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::byte header[sizeof(FileHeader)];
  const std::size_t there = size < sizeof header ? static_cast<std::size_t>(size) : sizeof header;
  if (!read(header, there, 0)) return refused("it ends too early");
  Refusal refusal = judge_header({header, there}, shape);
  if (refusal.kind == Refusal::Kind::kNone && size < shape.bytes) {
    refusal = refused("it is cut off: " + std::to_string(size) + " of " +
                      std::to_string(shape.bytes) + " bytes are there");
  }
  return refusal;
}

bool RecordedFile::read(void* to, std::size_t bytes, std::size_t offset) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(file_, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
    offset += static_cast<std::size_t>(got);
  }
  return true;
}

const void* RecordedFile::map() {
  if (memory_) return memory_;
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) return nullptr;
  memory_ = memory;
  survive_lost_pages();
  guard_pages(memory_, bytes_);
  // The mapping stays without the descriptor, and `cuvmm top` maps many files.
  ::close(std::exchange(file_, -1));
  return memory_;
}

bool RecordedFile::cut() const { return memory_ && lost_pages(memory_); }

}  // namespace cuvmm::recorder
