// SPDX-License-Identifier: Apache-2.0
// The pseudo-calls: operations that a program needs beside the driver's functions.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "program/kernel/kernels.h"
#include "program/session.h"

namespace cuvmm::program {

namespace {

std::string hex(const unsigned char* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

int make_memfd(std::size_t size) {
  const int fd = memfd_create("cuvmm-program", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) != 0) return close(fd), -1;
  return fd;
}

std::string descriptor_state(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  if (flags == -1) return "0";
  return flags & FD_CLOEXEC ? "3" : "1";
}

// The most bytes that bytes() and peek() show.
constexpr std::size_t kMostShown = 4096;

}  // namespace

CUresult Session::make_current(int device, CUcontext* context) {
  CUdevice handle = 0;
  CUresult result = driver_(calls::DeviceGet{&handle, device});
  if (result == CUDA_SUCCESS) result = driver_(calls::DevicePrimaryCtxRetain{context, handle});
  if (result == CUDA_SUCCESS) result = driver_(calls::CtxSetCurrent{*context});
  return result;
}

std::optional<std::uint64_t> Session::room(const Value& value, std::uint64_t address) const {
  std::span<const unsigned char> buffer;
  if (value.kind == Value::Kind::kName) {
    buffer = bytes(value.text);
  } else if (value.kind == Value::Kind::kCall && !buffers_.empty()) {
    buffer = buffers_.back();  // host(size): the buffer made for this statement
  } else if (value.kind == Value::Kind::kSum) {
    for (const Argument& part : value.parts) {
      if (const auto found = room(part.value, address)) return found;
    }
  }
  if (!buffer.data()) return std::nullopt;
  const auto start = reinterpret_cast<std::uintptr_t>(buffer.data());
  const bool inside = address >= start && address - start <= buffer.size();
  return inside ? buffer.size() - (address - start) : 0;
}

bool Session::same(const BoundArguments& bound, const std::uint64_t* values) const {
  const auto contents = [&](std::size_t i) {
    const bool name = bound.values[i] && bound.values[i]->kind == Value::Kind::kName;
    return name ? bytes(bound.values[i]->text) : std::span<const unsigned char>();
  };
  const auto a = contents(0), b = contents(1);
  return a.empty() || b.empty() ? values[0] == values[1] : std::ranges::equal(a, b);
}

Binding Session::perform(const BoundArguments& bound, const std::uint64_t* values,
                         const std::string& path, Outcome& outcome) {
  const auto descriptor = [&](int fd) {
    if (fd < 0) outcome.value = "failed";
    return Binding{Binding::Kind::kDescriptor, static_cast<std::uint64_t>(std::int64_t{fd}), 0};
  };
  const auto* memory_at = reinterpret_cast<const unsigned char*>(values[0]);
  switch (bound.signature->pseudo) {
    case Pseudo::kInit: {
      outcome.result = driver_(calls::Init{0});
      CUcontext context = nullptr;
      const bool with_context = !bound.values[0] || values[0];
      if (outcome.result == CUDA_SUCCESS && with_context) {
        outcome.result = make_current(static_cast<int>(values[1]), &context);
      }
      return Binding{Binding::Kind::kNumber, reinterpret_cast<std::uintptr_t>(context), 0};
    }
    case Pseudo::kContext: {
      CUcontext context = nullptr;
      outcome.result = make_current(static_cast<int>(values[0]), &context);
      return Binding{Binding::Kind::kNumber, reinterpret_cast<std::uintptr_t>(context), 0};
    }
    case Pseudo::kHost: {
      void* memory = buffer(values[0], static_cast<unsigned char>(values[1]));
      const std::size_t size = memory ? values[0] : 0;
      return Binding{Binding::Kind::kBuffer, reinterpret_cast<std::uintptr_t>(memory), size};
    }
    case Pseudo::kBytes:
    case Pseudo::kPeek:
      outcome.value = hex(memory_at, std::min<std::size_t>(values[1], kMostShown));
      break;
    case Pseudo::kPoke:
      *reinterpret_cast<volatile unsigned char*>(values[0]) = static_cast<unsigned char>(values[1]);
      break;
    case Pseudo::kSame:
      outcome.value = same(bound, values) ? "1" : "0";
      break;
    case Pseudo::kDifference:
      outcome.value = std::to_string(static_cast<std::int64_t>(values[0] - values[1]));
      break;
    case Pseudo::kAligned:
      outcome.value = values[1] && values[0] % values[1] == 0 ? "1" : "0";
      break;
    case Pseudo::kOpen:
      return descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
    case Pseudo::kMemfd:
      return descriptor(make_memfd(values[0]));
    case Pseudo::kDescriptor:
      outcome.value = descriptor_state(static_cast<int>(values[0]));
      break;
    case Pseudo::kClose:
      if (close(static_cast<int>(values[0])) != 0) outcome.value = "failed";
      break;
    case Pseudo::kReceive:
      if (bound.values[0]->kind == Value::Kind::kName) return *binding(bound.values[0]->text);
      break;
    case Pseudo::kKernel: {
      CUfunction function = nullptr;
      outcome.result = load_kernel(driver_, kernel_name(values[0]), &function);
      return Binding{Binding::Kind::kNumber, reinterpret_cast<std::uintptr_t>(function), 0};
    }
    case Pseudo::kExit:
      std::exit(0);
    case Pseudo::kNone:
      break;
  }
  return {};
}

Outcome Session::run_pseudo(const Statement& statement, const BoundArguments& bound) {
  Outcome outcome;
  Resolver resolver(*this);
  std::uint64_t values[2] = {};
  std::string path;
  const Pseudo pseudo = bound.signature->pseudo;
  for (std::size_t i = 0; i < bound.values.size(); ++i) {
    if (!bound.values[i]) continue;
    if (pseudo == Pseudo::kOpen) {
      path = resolver.string(*bound.values[i]);
    } else {
      values[i] = resolver.number(*bound.values[i], words_of(pseudo, i));
    }
  }
  if (!resolver.errors().empty()) {
    outcome.detail = resolver.errors().front().message;
    return outcome;
  }
  const bool looks = pseudo == Pseudo::kBytes || pseudo == Pseudo::kPeek;
  if (looks || pseudo == Pseudo::kPoke) {
    // Only buffers of the session have a known end; device memory is not checked here.
    const std::uint64_t touched = looks ? std::min<std::uint64_t>(values[1], kMostShown) : 1;
    const auto left = room(*bound.values[0], values[0]);
    if (left && touched > *left) {
      outcome.detail = "the host buffer has " + std::to_string(*left) + " bytes from there, not " +
                       std::to_string(touched);
      return outcome;
    }
  }
  outcome.status = Outcome::Status::kDone;
  const Binding binding = perform(bound, values, path, outcome);
  const bool bound_something = outcome.result == CUDA_SUCCESS && !statement.result.empty();
  if (bound_something) bind(statement.result, binding);
  return outcome;
}

}  // namespace cuvmm::program
