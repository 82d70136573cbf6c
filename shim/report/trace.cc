// SPDX-License-Identifier: Apache-2.0
#include "shim/report/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <unordered_map>

#include "api/posix/cancel_off.h"
#include "api/posix/raw_write.h"
#include "api/print.h"
#include "api/visit_call.h"
#include "api/words.h"
#include "shim/process/kept_descriptor.h"
#include "shim/report/output.h"

namespace cuvmm::shim {

namespace {

std::string offset_text(const std::string& name, std::uint64_t offset) {
  return offset == 0 ? name : name + "+" + number_text(offset);
}

/// The names that the trace gave to results: r0 for a reservation, h0 for a handle, fd0.
class TraceNames : public ValueNames {
 public:
  std::string text(ParameterKind kind, std::uint64_t value) const override {
    switch (kind) {
      case ParameterKind::kAddress:
      case ParameterKind::kVoidAddress:
        return find(ranges_, value);
      case ParameterKind::kHostIn:
      case ParameterKind::kHostOut:
        return find(host_, value);
      case ParameterKind::kStream:
        // The streams of the program are in no trace: a default one takes the place of each.
        return value > 2 ? "0" : "";
      case ParameterKind::kHandle:
        return find(handles_, value);
      case ParameterKind::kObject:
        return find(objects_, value);
      case ParameterKind::kInShareable:
        return find(descriptors_, value);
      default:
        return {};
    }
  }

  std::string name_range(std::uint64_t base, std::uint64_t size) {
    std::string name = "r" + std::to_string(next_range_++);
    ranges_[base] = {name, size};
    return name;
  }
  std::string name_host(const void* base, std::uint64_t size) {
    if (size == 0) return {};
    std::string name = "b" + std::to_string(next_host_++);
    host_[reinterpret_cast<std::uintptr_t>(base)] = {name, size};
    return name;
  }
  std::string name_handle(std::uint64_t handle) {
    return handles_[handle] = "h" + std::to_string(next_handle_++);
  }
  /// `letter` tells the kinds of objects apart.
  std::string name_object(char letter, const void* object) {
    return objects_[reinterpret_cast<std::uintptr_t>(object)] =
               letter + std::to_string(next_object_++);
  }
  std::string name_descriptor(std::uint64_t fd) {
    return descriptors_[fd] = "fd" + std::to_string(next_descriptor_++);
  }

 private:
  struct Range {
    std::string name;
    std::uint64_t size;
  };
  using Ranges = std::map<std::uint64_t, Range>;
  using Names = std::unordered_map<std::uint64_t, std::string>;
  static std::string find(const Ranges& ranges, std::uint64_t value) {
    auto range = ranges.upper_bound(value);
    if (range == ranges.begin()) return {};
    --range;
    const std::uint64_t offset = value - range->first;
    // One past the end is written relative to the range as well: loops stop there.
    return offset <= range->second.size ? offset_text(range->second.name, offset) : "";
  }
  static std::string find(const Names& names, std::uint64_t value) {
    const auto known = names.find(value);
    return known == names.end() ? std::string() : known->second;
  }
  Ranges ranges_, host_;
  Names handles_, descriptors_, objects_;
  unsigned next_range_ = 0, next_host_ = 0, next_handle_ = 0, next_descriptor_ = 0,
           next_object_ = 0;
};

/// Gives the out-value of a successful call its name; "" for calls that make none.
struct ResultNamer {
  TraceNames& names;
  std::string operator()(const calls::MemAddressReserve& call) const {
    return names.name_range(*call.ptr, call.size);
  }
  std::string operator()(const calls::MemCreate& call) const {
    return names.name_handle(*call.handle);
  }
  std::string operator()(const calls::MulticastCreate& call) const {
    return names.name_handle(*call.mcHandle);
  }
  std::string operator()(const calls::MemImportFromShareableHandle& call) const {
    return names.name_handle(*call.handle);
  }
  std::string operator()(const calls::MemRetainAllocationHandle& call) const {
    return names.name_handle(*call.handle);
  }
  std::string operator()(const calls::MemExportToShareableHandle& call) const {
    if (call.handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return {};
    return names.name_descriptor(
        static_cast<std::uint64_t>(*static_cast<const int*>(call.shareableHandle)));
  }
  std::string operator()(const calls::ImportExternalMemory& call) const {
    return names.name_object('m', *call.extMem_out);
  }
  std::string operator()(const calls::ExternalMemoryGetMappedBuffer& call) const {
    return names.name_range(*call.devPtr, call.bufferDesc->size);
  }
  std::string operator()(const calls::ImportExternalSemaphore& call) const {
    return names.name_object('s', *call.extSem_out);
  }
  // How far opened and imported memory reaches, the call does not say.
  std::string operator()(const calls::IpcOpenMemHandle& call) const {
    return names.name_range(*call.pdptr, 0);
  }
  std::string operator()(const calls::MemPoolImportPointer& call) const {
    return names.name_range(*call.ptr_out, 0);
  }
  std::string operator()(const calls::MemAllocFromPoolAsync& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAllocAsync& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAlloc& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAllocPitch& call) const {
    return names.name_range(*call.dptr, *call.pPitch * call.Height);
  }
  std::string operator()(const calls::MemAllocManaged& call) const {
    return names.name_range(*call.dptr, call.bytesize);
  }
  std::string operator()(const calls::MemAllocHost& call) const {
    return names.name_host(*call.pp, call.bytesize);
  }
  std::string operator()(const calls::MemHostAlloc& call) const {
    return names.name_host(*call.pp, call.bytesize);
  }
  std::string operator()(const calls::MemPoolCreate& call) const {
    return names.name_object('q', *call.pool);
  }
  std::string operator()(const calls::MemPoolImportFromShareableHandle& call) const {
    return names.name_object('q', *call.pool_out);
  }
  std::string operator()(const calls::MemPoolExportToShareableHandle& call) const {
    if (call.handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return {};
    return names.name_descriptor(
        static_cast<std::uint64_t>(*static_cast<const int*>(call.handle_out)));
  }
  template <class CallStruct>
  std::string operator()(const CallStruct&) const {
    return {};
  }
};

class Trace : public CallObserver {
 public:
  Trace(int fd, std::string path) : path_(std::move(path)) { file_.keep(fd); }

  void after(const Call& call, CUresult result) override {
    const std::lock_guard lock(mutex_);
    std::string line = call_text(call, &names_);
    if (result == CUDA_SUCCESS) {
      const std::string name = visit_call<std::string>(call, ResultNamer{names_});
      if (!name.empty()) line = name + " = " + line;
    }
    const int thread = thread_number();
    if (thread != 0) line = "@t" + std::to_string(thread) + " " + line;
    line += "  # " + result_name(result) + "\n";
    // One write per line: what was traced is there even if the driver dies in the next call.
    const int fd = place();
    if (fd >= 0) raw_write(fd, line);
  }

 private:
  // 0 for the first thread that calls, then 1, 2, ...
  int thread_number() {
    const auto [known, inserted] = threads_.try_emplace(::gettid(), next_thread_);
    if (inserted) ++next_thread_;
    return known->second;
  }

  // The program may have closed the descriptor: its own files have such numbers then.
  int place() {
    if (const int fd = file_.get(); fd >= 0) return fd;
    const CancelOff no_cancel;
    const int again = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file_.is_same_file(again)) {
      file_.keep(again);
      return file_.get();
    }
    if (again >= 0) ::close(again);
    return -1;
  }

  const std::string path_;
  KeptDescriptor file_;
  std::mutex mutex_;
  TraceNames names_;
  std::unordered_map<int, int> threads_;
  int next_thread_ = 0;
};

}  // namespace

std::unique_ptr<CallObserver> open_trace(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    say("cannot write the trace " + path + ": errno " + std::to_string(errno));
    return nullptr;
  }
  if (const int error = raw_write(fd, "cuvmm-program 1\ninit()\n"); error != 0) {
    say("cannot write the trace " + path + ": errno " + std::to_string(error));
    ::close(fd);
    return nullptr;
  }
  return std::make_unique<Trace>(fd, path);
}

}  // namespace cuvmm::shim
