// SPDX-License-Identifier: Apache-2.0
// cuLogs*: the driver's messages about calls that it refused. The types are declared here, because
// CUDA 12.4's header lacks them. Like cuGetErrorName, these functions work before cuInit.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "emulator/base/life.h"
#include "emulator/core/export.h"
#include "emulator/core/log.h"

namespace cuvmm::emulator {

namespace {

// The lines from the iterator on; moves the iterator to the end.
std::string take_lines(unsigned* iterator) {
  const std::uint32_t end = log::next();
  std::string text = log::lines(iterator ? *iterator : end - std::min(end, log::kLines));
  if (iterator) *iterator = end;
  return text;
}

bool write_all(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return false;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  return ::close(file) == 0 && done == text.size();
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuLogsRegisterCallback, log::Callback callback, void* data, void** out) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!callback) return CUDA_ERROR_INVALID_VALUE;
  void* const made = log::add(callback, data);
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  if (out) *out = made;
  return CUDA_SUCCESS;
}

CUVMM_DRIVER_FUNCTION(cuLogsUnregisterCallback, void* callback) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  return log::remove(callback) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUVMM_DRIVER_FUNCTION(cuLogsCurrent, unsigned* iterator, unsigned flags) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!iterator || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *iterator = log::next();
  return CUDA_SUCCESS;
}

CUVMM_DRIVER_FUNCTION(cuLogsDumpToFile, unsigned* iterator, const char* path, unsigned flags) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!path || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    return write_all(path, take_lines(iterator)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Where the buffer is too small, it receives the newest lines.
CUVMM_DRIVER_FUNCTION(cuLogsDumpToMemory, unsigned* iterator, char* buffer, std::size_t* size,
                      unsigned flags) {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!buffer || !size || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    std::string text = take_lines(iterator);
    const std::size_t room = *size == 0 ? 0 : *size - 1;
    const bool any = !text.empty();
    while (text.size() > room) text.erase(0, text.find('\n') + 1);
    *size = text.size();
    if (any && text.empty()) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(buffer, text.c_str(), text.size() + 1);
    return CUDA_SUCCESS;
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace cuvmm::emulator
