// SPDX-License-Identifier: Apache-2.0
#include "shim/symbols/get_proc_address.h"

#include <cerrno>

#include "shim/cuvmm_api/fork_point.h"
#include "shim/driver/no_driver.h"
#include "shim/guard/guard.h"
#include "shim/intercept/object_functions.h"
#include "shim/intercept/wrappers.h"
#include "shim/process/process.h"
#include "shim/symbols/counting_stub.h"
#include "shim/symbols/resolver.h"

namespace cuvmm::shim {

namespace {

constexpr int kFiveParameters = 12000;  // CUDA version that added symbolStatus

class ProcessHost : public ResolverHost {
 public:
  void* wrapper(Symbol symbol) override { return wrapper_of(symbol); }
  void* driver_export(const char* name) override { return Process::get().driver().find(name); }
  void* get_proc_address(int version) override { return get_proc_address_of(version); }
  void* refused_multicast() override {
    return Process::get().multicast_allowed() ? nullptr : refused_multicast_function();
  }
  void* guarded(const char* name, void* answer) override {
    if (void* const replacement = guarded_function(name, answer)) return replacement;
    if (void* const replacement = fork_point_function(name, answer)) return replacement;
    return object_function(name, answer);
  }
  void* counting(const char* name, void* answer) override { return counting_stub(name, answer); }
  void unchecked(std::string what) override { Process::get().note_unchecked(std::move(what)); }
};

// Both ABIs differ only in their last parameter, which is passed on unchanged.
template <class... Status>
CUresult ask(const char* symbol_name, const char* query, void** pfn, int version, cuuint64_t flags,
             Status... status) {
  using Function = CUresult(CUDAAPI*)(const char*, void**, int, cuuint64_t, Status...);
  const int saved = errno;
  const auto real = reinterpret_cast<Function>(Process::get().driver().find(symbol_name));
  errno = saved;
  if (!real) return CUDA_ERROR_NOT_FOUND;
  const CUresult result = real(query, pfn, version, flags, status...);
  if (result != CUDA_SUCCESS || !pfn || !*pfn) return result;
  const int after = errno;
  try {
    ProcessHost host;
    void* replacement = substitute(host, query, version, flags, *pfn);
    if (replacement != *pfn) *pfn = replacement;
  } catch (...) {
    // Out of memory: the driver's own pointer is a right answer too; calls through it are just not
    // checked.
  }
  errno = after;
  return result;
}

CUresult CUDAAPI four_parameters(const char* query, void** pfn, int version, cuuint64_t flags) {
  return ask("cuGetProcAddress", query, pfn, version, flags);
}

CUresult CUDAAPI five_parameters(const char* query, void** pfn, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult* status) {
  return ask("cuGetProcAddress_v2", query, pfn, version, flags, status);
}

}  // namespace

void* get_proc_address_of(int version) {
  return version >= kFiveParameters ? reinterpret_cast<void*>(&five_parameters)
                                    : reinterpret_cast<void*>(&four_parameters);
}

}  // namespace cuvmm::shim
