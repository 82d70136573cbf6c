// SPDX-License-Identifier: Apache-2.0
// Reaches cuMemMap by the route that the command line names, and misuses it once.
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "api/multicast.h"
#include "shim/testing/introduced.h"
#include "shim/testing/misuse.h"

#undef cuGetProcAddress

namespace {

void* find(void* library, const char* name) {
  require(library != nullptr, "the library was loaded");
  return dlsym(library, name);
}

void* loaded(const char* name, int mode = RTLD_NOW) { return dlopen(name, mode); }

MapFunction map_of(void* library) {
  return reinterpret_cast<MapFunction>(find(library, "cuMemMap"));
}

using AskV1 = CUresult (*)(const char*, void**, int, cuuint64_t);
using AskV2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

MapFunction ask_v1(int version) {
  const auto ask = reinterpret_cast<AskV1>(find(loaded("libcuda.so.1"), "cuGetProcAddress"));
  void* function = nullptr;
  require(ask("cuMemMap", &function, version, 0) == CUDA_SUCCESS, "cuGetProcAddress");
  return reinterpret_cast<MapFunction>(function);
}

void* ask_v2(const char* name, int version) {
  const auto ask = reinterpret_cast<AskV2>(find(loaded("libcuda.so.1"), "cuGetProcAddress_v2"));
  void* function = nullptr;
  auto status = static_cast<CUdriverProcAddressQueryResult>(77);
  require(ask(name, &function, version, 0, &status) == CUDA_SUCCESS, "cuGetProcAddress_v2");
  require(status == CU_GET_PROC_ADDRESS_SUCCESS, "the driver's status arrives");
  return function;
}

// In the call the fake driver writes its log, which is a cancellation point.
void cancelled_in_driver() {
  void* const library = loaded("libcuda.so.1");
  static const auto reserve =
      reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)>(
          find(library, "cuMemAddressReserve"));
  CUdeviceptr address = 0;
  require(reserve(&address, 2 << 20, 0, 0, 0) == CUDA_SUCCESS, "cuMemAddressReserve");
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        CUdeviceptr mine = 0;
        pthread_cancel(pthread_self());
        reserve(&mine, 2 << 20, 0, 0, 0);
        return nullptr;
      },
      nullptr);
  void* result = nullptr;
  pthread_join(thread, &result);
  require(result == PTHREAD_CANCELED, "the thread was cancelled in the driver");
  misuse(map_of(library));
}

void newest() {
  // A newer ABI under a known name: the program gets the driver's own function, and calls it with
  // the newer ABI.
  using Future = CUresult (*)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                              unsigned long long, int);
  const auto map = reinterpret_cast<Future>(ask_v2("cuMemMap", 99000));
  require(map(0, 0, 4096, 1, 0, 42) == CUDA_SUCCESS, "the newer ABI goes through");
  // A known ABI under a newer version number still has cuvmm's wrapper.
  const auto unmap =
      reinterpret_cast<CUresult (*)(CUdeviceptr, size_t)>(ask_v2("cuMemUnmap", 99000));
  require(unmap(0x1000, 0) == CUDA_SUCCESS, "cuMemUnmap");
}

// Finds cuGetProcAddress through itself, in both ABIs.
void itself() {
  const auto v1 = reinterpret_cast<AskV1>(ask_v2("cuGetProcAddress", 11030));
  const auto v2 = reinterpret_cast<AskV2>(ask_v2("cuGetProcAddress", 12000));
  void* one = nullptr;
  void* two = nullptr;
  require(v1("cuMemMap", &one, 12000, 0) == CUDA_SUCCESS, "4 parameters");
  auto status = static_cast<CUdriverProcAddressQueryResult>(77);
  require(v2("cuMemMap", &two, 12000, 0, &status) == CUDA_SUCCESS, "5 parameters");
  require(status == CU_GET_PROC_ADDRESS_SUCCESS, "the status is written");
  require(v2("cuMemMap", &two, 12000, 0, nullptr) == CUDA_SUCCESS, "no status wanted");
  require(one == two, "both give the wrapper");
  // After a failed query cuvmm changes nothing that the driver did not change.
  require(v2("cuNoSuchThing", &two, 12000, 0, &status) == CUDA_ERROR_NOT_FOUND, "unknown name");
  require(two == nullptr && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "the driver's answer");
  require(v2("", &two, 0, 0, nullptr) == CUDA_SUCCESS && two == nullptr, "the empty name");
  misuse(reinterpret_cast<MapFunction>(one));
}

void forked() {
  misuse(map_of(loaded("libcuda.so.1")));
  const pid_t child = fork();
  if (child == 0) {
    misuse(map_of(loaded("libcuda.so.1")));
    misuse(map_of(loaded("libcuda.so.1")));
    exit(0);
  }
  int status = 0;
  require(waitpid(child, &status, 0) == child && status == 0, "the child ended well");
}

void spawned(char** argv) {
  char route[] = "dlopen";
  char* const arguments[] = {argv[0], route, nullptr};
  pid_t child = 0;
  require(posix_spawn(&child, argv[0], nullptr, nullptr, arguments, environ) == 0, "posix_spawn");
  int status = 0;
  require(waitpid(child, &status, 0) == child && status == 0, "the child ended well");
}

void vforked() {
  misuse(map_of(loaded("libcuda.so.1")));
  const pid_t child = vfork();
  if (child == 0) _exit(3);  // must neither report nor spoil the parent's report
  int status = 0;
  require(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "the child's code");
}

// Lazy stubs: general, vector and stack arguments, and errno.
void lazy() {
  void* library = loaded("libcuda.so.1");
  using Bias = CUresult (*)(CUtexref, float);
  const auto bias = reinterpret_cast<Bias>(find(library, "cuTexRefSetMipmapLevelBias"));
  using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, unsigned, CUstream, void**, void**);
  const auto launch = reinterpret_cast<Launch>(find(library, "cuLaunchKernel"));
  for (int i = 0; i < 2; ++i) {
    errno = 1234;
    require(bias(reinterpret_cast<CUtexref>(7), 0.5f) == CUDA_SUCCESS, "a float argument");
    require(errno == 1234, "errno");
    require(launch(nullptr, 1, 2, 3, 4, 5, 6, 7, nullptr, reinterpret_cast<void**>(8),
                   reinterpret_cast<void**>(9)) == CUDA_SUCCESS,
            "eleven arguments");
  }
  using Create = CUresult (*)(CUcontext*, unsigned, CUdevice);
  const auto missing = reinterpret_cast<Create>(find(library, "cuCtxCreate_v2"));
  CUcontext context = reinterpret_cast<CUcontext>(5);
  require(missing(&context, 0, 0) == CUDA_ERROR_NOT_FOUND, "a symbol that the driver lacks");
  require(context == reinterpret_cast<CUcontext>(5), "out-parameters are not written");
}

// All functions that the shim keeps from a real driver, by each route to them.
void multicast() {
  void* const library = loaded("libcuda.so.1");
  const CUresult wanted =
      std::getenv("CUVMM_ALLOW_MULTICAST") ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  const auto try_it = [&](void* function, const char* name, const char* way) {
    // No function has more parameters; a parameter that is a pointer leads to memory of zeroes.
    static long memory[512];
    using Any = CUresult (*)(void*, void*, void*, void*, void*, void*, void*, void*);
    void* const any = memory;
    require(function != nullptr, name);
    const CUresult answer = reinterpret_cast<Any>(function)(any, any, any, any, any, any, any, any);
    require(answer == wanted, (std::string(name) + " by " + way).c_str());
  };
  const auto ask = reinterpret_cast<AskV1>(find(library, "cuGetProcAddress"));
  const auto by_query = [&](const char* name, int version) {
    void* function = nullptr;
    require(ask(name, &function, version, 0) == CUDA_SUCCESS, name);
    try_it(function, name, "cuGetProcAddress");
    try_it(ask_v2(name, version), name, "cuGetProcAddress_v2");
  };
  const auto both = [&](const char* symbol, int version) {
    try_it(find(library, symbol), symbol, "its symbol");
    by_query(std::string(cuvmm::without_abi(symbol)).c_str(), version);
  };
  // The second ABI is queried by the name of the first.
#define CUVMM_MULTICAST(Name) both("cu" #Name, cuvmm::shim::introduced("cu" #Name));
#include "api/entry_points.def"
  by_query("cuMulticastOfTomorrow", 99000);
}

// Functions that the shim does not know: two are about memory, one is not.
void unknown_functions() {
  using Trim = CUresult (*)(int);
  void* const library = loaded("libcuda.so.1");
  const auto trim = reinterpret_cast<Trim>(find(library, "cuDeviceGraphMemTrim"));
  for (int i = 0; i < 2; ++i) {
    require(trim(0) == CUDA_SUCCESS, "cuDeviceGraphMemTrim");
    const auto tomorrow = reinterpret_cast<CUresult (*)()>(ask_v2("cuMemOfTomorrow", 99000));
    require(tomorrow() == CUDA_SUCCESS, "cuMemOfTomorrow");
  }
  require(ask_v2("cuLaunchKernel", 13000) != nullptr, "cuLaunchKernel");
  lazy();
}

void no_driver() {
  void* library = loaded("libcuda.so.1");
  const auto init = reinterpret_cast<CUresult (*)(unsigned)>(find(library, "cuInit"));
  require(init(0) == CUDA_ERROR_NO_DEVICE, "cuInit");
  const auto map = map_of(library);
  require(map(0, 0, 0, 0, 0) == CUDA_ERROR_NO_DEVICE, "cuMemMap");
  const auto error_name =
      reinterpret_cast<CUresult (*)(CUresult, const char**)>(find(library, "cuGetErrorName"));
  const char* name = nullptr;
  require(error_name(CUDA_ERROR_NO_DEVICE, &name) == CUDA_SUCCESS && name, "cuGetErrorName");
  require(std::strcmp(name, "CUDA_ERROR_NO_DEVICE") == 0, "the name");
}

void clean_calls() {
  void* library = loaded("libcuda.so.1");
  const auto reserve =
      reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)>(
          find(library, "cuMemAddressReserve"));
  const auto release =
      reinterpret_cast<CUresult (*)(CUdeviceptr, size_t)>(find(library, "cuMemAddressFree"));
  CUdeviceptr address = 0;
  require(reserve(&address, 2 << 20, 0, 0, 0) == CUDA_SUCCESS, "reserve");
  require(release(address, 2 << 20) == CUDA_SUCCESS, "free");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view route = argc > 1 ? argv[1] : "";
  const char* path = argc > 2 ? argv[2] : "";
  void* const libcuda = nullptr;
  (void)libcuda;
  if (route == "dlopen")
    misuse(map_of(loaded("libcuda.so.1")));
  else if (route == "dlopen-lazy-local")
    misuse(map_of(loaded("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)));
  else if (route == "dlopen-unversioned")
    misuse(map_of(loaded("libcuda.so")));
  else if (route == "deepbind")
    misuse(reinterpret_cast<MapFunction>(
        find(loaded(path, RTLD_NOW | RTLD_DEEPBIND), "map_through_link")));
  else if (route == "v1")
    misuse(ask_v1(11030));
  else if (route == "v1-newer")
    misuse(ask_v1(12000));
  else if (route == "v2")
    misuse(reinterpret_cast<MapFunction>(ask_v2("cuMemMap", 13000)));
  else if (route == "v2-old")
    misuse(reinterpret_cast<MapFunction>(ask_v2("cuMemMap", 10020)));
  else if (route == "newest")
    newest();
  else if (route == "itself")
    itself();
  else if (route == "lazy")
    lazy();
  else if (route == "multicast")
    multicast();
  else if (route == "unknown-functions")
    unknown_functions();
  else if (route == "no-driver")
    no_driver();
  else if (route == "cancel-in-driver")
    cancelled_in_driver();
  else if (route == "clean")
    clean_calls();
  else if (route == "fork")
    forked();
  else if (route == "vfork")
    vforked();
  else if (route == "spawn")
    spawned(argv);
  else if (route == "exec") {
    misuse(map_of(loaded("libcuda.so.1")));
    execl(argv[0], argv[0], "dlopen", nullptr);
  } else if (route == "absolute")
    misuse(map_of(loaded(path)));
  else if (route == "dlmopen")
    misuse(map_of(dlmopen(LM_ID_NEWLM, path, RTLD_NOW)));
  else if (route == "thread-exit") {
    std::thread([] {
      misuse(map_of(loaded("libcuda.so.1")));
      exit(0);
    }).join();
  } else if (route == "_exit") {
    misuse(map_of(loaded("libcuda.so.1")));
    _exit(5);
  } else if (route == "quick_exit") {
    misuse(map_of(loaded("libcuda.so.1")));
    quick_exit(6);
  } else if (route == "abort") {
    misuse(map_of(loaded("libcuda.so.1")));
    std::abort();
  } else if (route == "crash")
    map_of(loaded("libcuda.so.1"))(0x700000000000, 2 << 20, 4096, 0xdead, 0);
  else if (route == "twice") {
    for (int i = 0; i < 1000; ++i) misuse(map_of(loaded("libcuda.so.1")));
  } else
    require(false, "a route that this program knows");
  return 0;
}
