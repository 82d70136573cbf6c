// SPDX-License-Identifier: Apache-2.0
// Prints a driver's answers about the default, the current and created pools of a device, of the
// host and of a NUMA node, and about their memory. One line for each question:
//
//   host_numa0 default: cuMemPoolDestroy: CUDA_ERROR_INVALID_VALUE
//   host_numa0 default, access of device 0: cuMemcpyDtoH: CUDA_ERROR_INVALID_VALUE
//
// Each pool has a process of its own for its questions: if the driver crashes, the question's line
// says so, and the next pool follows. The program uses no managed memory and no multicast. The
// answers belong into the rules of pools (rulebook/rules/pool.def, data.def). Exit code 0: all
// questions were asked; 77: the driver has no pools of places (CUDA 13).
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

// By number, because older headers have no names for some of them.
constexpr int kDevice = 1, kHost = 2, kHostNuma = 3;
constexpr std::size_t kSize = std::size_t{2} << 20;

struct Place {
  const char* name;
  int type;
};
constexpr Place kPlaces[] = {{"device0", kDevice}, {"host", kHost}, {"host_numa0", kHostNuma}};

enum class Kind { kDefault, kCurrent, kCreated, kShareable };
constexpr const char* kKindNames[] = {"default", "current", "created", "created for descriptors"};

// Functions of CUDA 13, found by name, because this program builds with older headers as well.
using GetPool = CUresult (*)(CUmemoryPool*, CUmemLocation*, CUmemAllocationType);
GetPool g_default = nullptr, g_current = nullptr;

std::string result_name(CUresult result) {
  const char* name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) return std::to_string(result);
  return name;
}

CUmemLocation location(int type) {
  CUmemLocation where;
  std::memset(&where, 0, sizeof where);
  where.type = static_cast<CUmemLocationType>(type);
  return where;
}

class Questions {
 public:
  Questions(const Place& place, Kind kind)
      : place_(place),
        kind_(kind),
        about_(std::string(place.name) + " " + kKindNames[static_cast<int>(kind)]) {}

  void ask() {
    if (!find_pool()) return;
    if (kind_ == Kind::kDefault || kind_ == Kind::kCurrent) {
      say("cuMemPoolDestroy", cuMemPoolDestroy(pool_));
    }
    int fd = -1;
    say("cuMemPoolExportToShareableHandle",
        cuMemPoolExportToShareableHandle(&fd, pool_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (fd >= 0) ::close(fd);
    CUdeviceptr memory = 0;
    const CUresult taken = cuMemAllocFromPoolAsync(&memory, kSize, pool_, nullptr);
    say("cuMemAllocFromPoolAsync", taken);
    if (taken != CUDA_SUCCESS) return;
    cuCtxSynchronize();
    unsigned type = 0;
    const CUresult answer = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory);
    say("CU_POINTER_ATTRIBUTE_MEMORY_TYPE", answer, std::to_string(type));
    CUmemPoolPtrExportData data;
    say("cuMemPoolExportPointer", cuMemPoolExportPointer(&data, memory));
    use(memory, "");
    set_access(kDevice, 3);
    use(memory, ", access of device 0");
    if (place_.type != kDevice) set_access(place_.type, 3);
    set_access(kDevice, 0);
    use(memory, ", access of device 0 taken back");
    say("cuMemFreeAsync", cuMemFreeAsync(memory, nullptr));
    cuCtxSynchronize();
    if (kind_ == Kind::kCreated || kind_ == Kind::kShareable) {
      say("cuMemPoolDestroy", cuMemPoolDestroy(pool_));
    }
  }

 private:
  void say(const char* question, CUresult result, const std::string& value = "",
           const char* when = "") {
    std::printf("%s%s: %s: %s%s%s\n", about_.c_str(), when, question, result_name(result).c_str(),
                value.empty() ? "" : " ", value.c_str());
    std::fflush(stdout);
  }

  bool find_pool() {
    CUmemLocation where = location(place_.type);
    CUresult found = CUDA_SUCCESS;
    const char* asked = "cuMemPoolCreate";
    if (kind_ == Kind::kDefault) {
      asked = "cuMemGetDefaultMemPool";
      found = g_default(&pool_, &where, CU_MEM_ALLOCATION_TYPE_PINNED);
    } else if (kind_ == Kind::kCurrent) {
      asked = "cuMemGetMemPool";
      found = g_current(&pool_, &where, CU_MEM_ALLOCATION_TYPE_PINNED);
    } else {
      CUmemPoolProps props;
      std::memset(&props, 0, sizeof props);
      props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      props.location = where;
      if (kind_ == Kind::kShareable) props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
      found = cuMemPoolCreate(&pool_, &props);
    }
    say(asked, found);
    if (found != CUDA_SUCCESS) return false;
    if (kind_ == Kind::kCurrent) {
      for (const Place& other : kPlaces) {
        CUmemoryPool its = nullptr;
        CUmemLocation there = location(other.type);
        const CUresult got = g_default(&its, &there, CU_MEM_ALLOCATION_TYPE_PINNED);
        say((std::string("is the default pool of ") + other.name).c_str(), got,
            its == pool_ ? "yes" : "no");
      }
    }
    return true;
  }

  void set_access(int type, unsigned flags) {
    CUmemAccessDesc desc;
    std::memset(&desc, 0, sizeof desc);
    desc.location = location(type);
    desc.flags = static_cast<CUmemAccess_flags>(flags);
    const std::string question = std::string("cuMemPoolSetAccess of ") +
                                 kPlaces[type - kDevice].name + (flags ? ":rw" : ":none");
    say(question.c_str(), cuMemPoolSetAccess(pool_, &desc, 1));
    CUmemAccess_flags now{};
    CUmemLocation where = location(kDevice);
    const CUresult got = cuMemPoolGetAccess(&now, pool_, &where);
    say("cuMemPoolGetAccess of device0", got, std::to_string(static_cast<unsigned>(now)));
  }

  void use(CUdeviceptr memory, const char* when) {
    unsigned char bytes[16] = {};
    CUdeviceptr other = 0;
    if (cuMemAlloc(&other, kSize) != CUDA_SUCCESS) return;
    const auto done = [&](const char* question, CUresult result) {
      const CUresult after = result == CUDA_SUCCESS ? cuCtxSynchronize() : CUDA_SUCCESS;
      say(question, after == CUDA_SUCCESS ? result : after, "", when);
    };
    done("cuMemsetD8", cuMemsetD8(memory, 1, sizeof bytes));
    done("cuMemsetD8Async", cuMemsetD8Async(memory, 1, sizeof bytes, nullptr));
    done("cuMemcpyHtoD", cuMemcpyHtoD(memory, bytes, sizeof bytes));
    done("cuMemcpyDtoH", cuMemcpyDtoH(bytes, memory, sizeof bytes));
    done("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync(bytes, memory, sizeof bytes, nullptr));
    done("cuMemcpyDtoD in itself", cuMemcpyDtoD(memory, memory + 64, sizeof bytes));
    done("cuMemcpyDtoD from it", cuMemcpyDtoD(other, memory, sizeof bytes));
    done("cuMemcpyDtoD to it", cuMemcpyDtoD(memory, other, sizeof bytes));
    done("cuMemcpyDtoDAsync from it", cuMemcpyDtoDAsync(other, memory, sizeof bytes, nullptr));
    done("cuMemcpy from it", cuMemcpy(other, memory, sizeof bytes));
    done("cuMemcpy to it", cuMemcpy(memory, other, sizeof bytes));
    cuMemFree(other);
  }

  const Place& place_;
  const Kind kind_;
  const std::string about_;
  CUmemoryPool pool_ = nullptr;
};

// Returns 77 where the driver is too old.
int ask_all(const Place& place, Kind kind) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS) {
    std::fprintf(stderr, "place_pools: no device\n");
    return 1;
  }
  CUdriverProcAddressQueryResult known{};
  const auto find = [&](const char* name, GetPool& function) {
    void* found = nullptr;
    const CUresult got = cuGetProcAddress(name, &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &known);
    function = reinterpret_cast<GetPool>(found);
    return got == CUDA_SUCCESS && function;
  };
  if (!find("cuMemGetDefaultMemPool", g_default) || !find("cuMemGetMemPool", g_current)) return 77;
  Questions(place, kind).ask();
  return 0;
}

}  // namespace

int main() {
  int code = 0;
  for (const Place& place : kPlaces) {
    for (const Kind kind : {Kind::kDefault, Kind::kCurrent, Kind::kCreated, Kind::kShareable}) {
      std::fflush(stdout);
      const pid_t child = ::fork();
      if (child == 0) {
        const int asked = ask_all(place, kind);
        std::fflush(stdout);
        ::_exit(asked);
      }
      int status = 0;
      if (child < 0 || ::waitpid(child, &status, 0) != child) return 1;
      if (WIFSIGNALED(status)) {
        std::printf("%s %s: died of signal %d\n", place.name, kKindNames[static_cast<int>(kind)],
                    WTERMSIG(status));
      } else if (WEXITSTATUS(status) != 0) {
        code = WEXITSTATUS(status);
      }
    }
  }
  return code;
}
