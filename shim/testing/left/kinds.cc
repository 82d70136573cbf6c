// SPDX-License-Identifier: Apache-2.0
// Makes objects of one kind (the first argument; PIECES in the environment: their number) and gives
// them back, or keeps them (with the second argument "kept";
// "kept-but-one": all but the first).
#include <cuda.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "driver.h"

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

struct Thing {
  CUdeviceptr address = 0;
  void* host = nullptr;
  CUarray array = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUcontext context = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUmemoryPool pool = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  CUuserObject user = nullptr;
  int fd = -1;
};

CUmemAllocationProp properties() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

CUmemoryPool make_pool(CUmemAllocationHandleType shared = CU_MEM_HANDLE_TYPE_NONE) {
  CUmemPoolProps props{};
  props.handleTypes = shared;
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  must(cuMemPoolCreate(&pool, &props));
  return pool;
}

constexpr const char* kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";

// Its destructor runs after the driver's end, because the object is made before cuInit.
struct Late {
  CUdeviceptr address = 0;
  ~Late() {
    if (address != 0) (void)cuMemFree(address);
  }
} late;

struct Program {
  std::string kind;
  bool kept = false;
  bool but_one = false;
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;

  bool is(const char* name) const { return kind == name; }

  void make(Thing& t) {
    if (is("malloc") || is("device-end")) must(cuMemAlloc(&t.address, kBytes));
    if (is("reset")) must(cuMemAlloc(&late.address, kBytes));
    if (is("managed")) must(cuMemAllocManaged(&t.address, kBytes, CU_MEM_ATTACH_GLOBAL));
    if (is("async")) must(cuMemAllocAsync(&t.address, kBytes, stream));
    if (is("frompool") || is("lostpool") || is("pool-end")) {
      must(cuMemAllocFromPoolAsync(&t.address, kBytes, pool, stream));
    }
    if (is("host")) must(cuMemAllocHost(&t.host, kBytes));
    if (is("graph-end")) launch_allocation(t);
    if (is("texture")) make_texture(t);
    if (is("surface")) make_surface(t);
    if (is("user") || is("user-moved")) make_user_object(t);
    if (is("poolfd")) {
      t.pool = make_pool(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
      must(cuMemPoolExportToShareableHandle(&t.fd, t.pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            0));
      must(cuMemPoolDestroy(t.pool));
    }
    if (is("register") || is("register-end")) {
      t.host = aligned_alloc(4096, kBytes);
      must(cuMemHostRegister(t.host, kBytes, 0));
    }
    if (is("unmapped")) {
      t.host = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      must(cuMemHostRegister(t.host, kBytes, 0));
    }
    if (is("array")) {
      const CUDA_ARRAY_DESCRIPTOR shape{64, 64, CU_AD_FORMAT_FLOAT, 1};
      must(cuArrayCreate(&t.array, &shape));
    }
    if (is("stream")) must(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING));
    if (is("event")) must(cuEventCreate(&t.event, 0));
    if (is("context")) make_context(t);
    if (is("retain")) must(cuDevicePrimaryCtxRetain(&t.context, 0));
    if (is("graph") || is("executable")) must(cuGraphCreate(&t.graph, 0));
    if (is("executable")) {
      must(cuGraphInstantiateWithFlags(&t.executable, t.graph, 0));
      must(cuGraphDestroy(t.graph));
    }
    if (is("module")) must(cuModuleLoadData(&t.module, kPtx));
    if (is("library")) {
      must(cuLibraryLoadData(&t.library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    }
    if (is("pool")) t.pool = make_pool();
    if (is("vmm")) {
      const CUmemAllocationProp prop = properties();
      must(cuMemCreate(&t.handle, 2 * kBytes, &prop, 0));
    }
    if (is("reserve")) must(cuMemAddressReserve(&t.address, 2 * kBytes, 0, 0, 0));
    if (is("dmabuf") || is("dmabuf-freed")) {
      must(cuMemAlloc(&t.address, 2 * kBytes));
      must(cuMemGetHandleForAddressRange(&t.fd, t.address, 2 * kBytes,
                                         CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
      if (is("dmabuf-freed")) must(cuMemFree(t.address));
    }
  }

  void end(Thing& t) const {
    if (is("malloc") || is("managed") || is("device-end")) must(cuMemFree(t.address));
    if (is("async") || is("frompool") || is("lostpool") || is("pool-end") || is("graph-end"))
      must(cuMemFreeAsync(t.address, stream));
    if (is("host")) must(cuMemFreeHost(t.host));
    if (is("register") || is("unmapped") || is("register-end")) must(cuMemHostUnregister(t.host));
    if (is("texture")) must(cuTexObjectDestroy(t.texture));
    if (is("surface")) must(cuSurfObjectDestroy(t.surface));
    if (is("user")) must(cuUserObjectRelease(t.user, 2));
    if (is("poolfd")) ::close(t.fd);
    if (is("array")) must(cuArrayDestroy(t.array));
    if (is("stream")) must(cuStreamDestroy(t.stream));
    if (is("event")) must(cuEventDestroy(t.event));
    if (is("context")) must(cuCtxDestroy(t.context));
    if (is("retain")) must(cuDevicePrimaryCtxRelease(0));
    if (is("graph")) must(cuGraphDestroy(t.graph));
    if (is("executable")) must(cuGraphExecDestroy(t.executable));
    if (is("module")) must(cuModuleUnload(t.module));
    if (is("library")) must(cuLibraryUnload(t.library));
    if (is("pool")) must(cuMemPoolDestroy(t.pool));
    if (is("vmm")) must(cuMemRelease(t.handle));
    if (is("reserve")) must(cuMemAddressFree(t.address, 2 * kBytes));
    if (is("dmabuf") || is("dmabuf-freed")) ::close(t.fd);
    if (is("dmabuf")) must(cuMemFree(t.address));
  }

  // The launch allocates the memory, and leaves it.
  void launch_allocation(Thing& t) const {
    must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    must(cuMemAllocAsync(&t.address, kBytes, stream));
    must(cuStreamEndCapture(stream, &t.graph));
    must(cuGraphInstantiateWithFlags(&t.executable, t.graph, 0));
    must(cuGraphLaunch(t.executable, stream));
    must(cuStreamSynchronize(stream));
    must(cuGraphExecDestroy(t.executable));
    must(cuGraphDestroy(t.graph));
  }
  static void make_texture(Thing& t) {
    must(cuMemAlloc(&t.address, kBytes));
    CUDA_RESOURCE_DESC from{};
    from.resType = CU_RESOURCE_TYPE_LINEAR;
    from.res.linear.devPtr = t.address;
    from.res.linear.format = CU_AD_FORMAT_FLOAT;
    from.res.linear.numChannels = 1;
    from.res.linear.sizeInBytes = kBytes;
    const CUDA_TEXTURE_DESC how{};
    must(cuTexObjectCreate(&t.texture, &from, &how, nullptr));
    must(cuMemFree(t.address));
  }
  static void make_surface(Thing& t) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = shape.Height = 64;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    shape.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    must(cuArray3DCreate(&t.array, &shape));
    CUDA_RESOURCE_DESC from{};
    from.resType = CU_RESOURCE_TYPE_ARRAY;
    from.res.array.hArray = t.array;
    must(cuSurfObjectCreate(&t.surface, &from));
    must(cuArrayDestroy(t.array));
  }
  // The program owns two references, or gives both to a graph, which ends.
  void make_user_object(Thing& t) const {
    static int unused;
    must(cuUserObjectCreate(
        &t.user, &unused, [](void*) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    must(cuUserObjectRetain(t.user, 1));
    if (!is("user-moved")) return;
    must(cuGraphCreate(&t.graph, 0));
    must(cuGraphRetainUserObject(t.graph, t.user, 2, CU_GRAPH_USER_OBJECT_MOVE));
    must(cuGraphDestroy(t.graph));
  }

  static void make_context(Thing& t) {
#if CUDA_VERSION >= 13000
    must(cuCtxCreate(&t.context, nullptr, 0, 0));
#else
    must(cuCtxCreate(&t.context, 0, 0));
#endif
    must(cuCtxPopCurrent(&t.context));
  }

  int run() {
    must(cuInit(0));
    CUcontext context = nullptr;
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    if (is("frompool") || is("lostpool") || is("pool-end")) pool = make_pool();
    CUdeviceptr checked = 0;  // without any checked call, `cuvmm run` would report that it checked
                              // nothing
    must(cuMemAlloc(&checked, kBytes));
    must(cuMemFree(checked));
    std::vector<Thing> things(std::strtoul(std::getenv("PIECES"), nullptr, 10));
    for (Thing& thing : things) make(thing);
    for (Thing& thing : things) {
      if (!kept || (but_one && &thing == things.data())) end(thing);
      if (is("unmapped")) ::munmap(thing.host, kBytes);
    }
    must(cuStreamSynchronize(stream));
    if (is("lostpool") || ((is("frompool") || is("pool-end")) && !kept))
      must(cuMemPoolDestroy(pool));
    must(cuStreamDestroy(stream));
    if (is("retain") && kept) return 0;
    if (is("reset") && kept) must(cuDevicePrimaryCtxReset(0));
    if (is("reset")) return 0;
    // Objects of other kinds end with the context, if their kind does.
    if (!kept || is("device-end") || is("pool-end") || is("graph-end") || is("register-end"))
      must(cuDevicePrimaryCtxRelease(0));
    return 0;
  }
};

}  // namespace

int main(int count, char** arguments) {
  const std::string how = count > 2 ? arguments[2] : "";
  Program program{arguments[1], how.starts_with("kept"), how == "kept-but-one"};
  const int code = program.run();
  if (count > 3) {
    ::sleep(1);  // from here on cuvmm takes the program for idle, and not for about to free the
                 // objects
    ::raise(std::atoi(arguments[3]));
  }
  return code;
}
