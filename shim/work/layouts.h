// SPDX-License-Identifier: Apache-2.0
// Where the parameters of device functions lie, asked once per function.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/session/owned_mutex.h"
#include "shim/work/questions.h"

namespace cuvmm::shim {

struct Layout {
  struct Parameter {
    std::uint32_t offset = 0;  ///< bytes, in the buffer of all parameters
    std::uint32_t size = 0;    ///< bytes
  };
  bool hidden = false;  ///< the driver does not tell
  std::vector<Parameter> parameters;
  const std::string* function = nullptr;  ///< its name, demangled; lives for ever; null: unknown
};

/// Thread-safe.
class Layouts {
 public:
  explicit Layouts(const Questions& ask) : ask_(ask) {}

  /// Of a CUfunction, or of a CUkernel that was passed as one. The driver may load the function
  /// when it is first asked.
  std::shared_ptr<const Layout> of(CUfunction function);
  /// A handle may mean another function from here on.
  void forget_all();
  /// Only in a child of fork, which has one thread. What is not whole is left behind.
  void restart(bool whole) CUVMM_UNCHECKED;
  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() CUVMM_RELEASES(mutex_) { mutex_.unlock(); }

 private:
  using Known = std::unordered_map<CUfunction, std::shared_ptr<const Layout>>;
  Layout ask(CUfunction function) const;
  std::string name_of(CUfunction function) const;

  const Questions& ask_;
  OwnedMutex mutex_;
  Known known_ CUVMM_GUARDED_BY(mutex_);
  std::set<std::string> names_ CUVMM_GUARDED_BY(mutex_);  ///< only ever grows
};

}  // namespace cuvmm::shim
