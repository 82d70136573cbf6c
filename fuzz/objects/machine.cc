// SPDX-License-Identifier: Apache-2.0
#include "fuzz/objects/machine.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "api/multicast.h"
#include "fuzz/machine/driver_library.h"
#include "fuzz/objects/code.h"

namespace cuvmm::fuzz::objects {

Functions load_functions(const std::string& path) {
  Functions out;
  DriverLibrary library(path);
#define CUVMM_FUNCTION(name)            \
  static_assert(!can_multicast(#name)); \
  library.find(out.name, #name);
#include "fuzz/objects/functions.def"
  out.error = library.error();
  return out;
}

namespace {

template <class Handle>
std::uint64_t number(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// Keeps what a call made, which leaves `to` as it is where the call was refused.
template <class Handle>
Answer made(CUresult result, Handle value, Handle& to) {
  if (result != CUDA_SUCCESS) return {result};
  to = value;
  if constexpr (std::is_pointer_v<Handle>) {
    return {result, number(value)};
  } else {
    return {result, value};
  }
}

std::vector<unsigned char> bytes_of(unsigned value, std::size_t count) {
  std::vector<unsigned char> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = written_byte(value, i);
  return out;
}

}  // namespace

std::string Machine::start() {
  if (driver_.cuInit(0) != CUDA_SUCCESS) return "cuInit fails";
  if (driver_.cuDevicePrimaryCtxRetain(&context_, 0) != CUDA_SUCCESS) return "no context";
  return driver_.cuCtxSetCurrent(context_) == CUDA_SUCCESS ? "" : "cuCtxSetCurrent fails";
}

std::string Machine::begin() {
  std::fill(std::begin(arrays_), std::end(arrays_), nullptr);
  std::fill(std::begin(memories_), std::end(memories_), 0);
  std::fill(std::begin(graphs_), std::end(graphs_), nullptr);
  std::fill(std::begin(last_), std::end(last_), nullptr);
  std::fill(std::begin(executables_), std::end(executables_), nullptr);
  std::fill(std::begin(modules_), std::end(modules_), nullptr);
  std::fill(std::begin(libraries_), std::end(libraries_), nullptr);
  std::fill(std::begin(functions_), std::end(functions_), nullptr);
  for (unsigned i = 0; i < kLinears; ++i) {
    if (driver_.cuMemAlloc_v2(&memories_[i], kLinearBytes) != CUDA_SUCCESS) return "no memory";
    if (driver_.cuMemsetD8_v2(memories_[i], 0, kLinearBytes) != CUDA_SUCCESS) return "no fill";
  }
  return "";
}

void Machine::end() {
  for (unsigned i = 0; i < kLinears; ++i) driver_.cuMemFree_v2(memories_[i]);
}

Answer Machine::run(const Op& op) {
  switch (info(op.code).area) {
    case Area::kArrays:
      return run_array(op);
    case Area::kMemory:
      return run_memory(op);
    case Area::kGraphs:
      return run_graph(op);
    default:
      return run_code(op);
  }
}

Answer Machine::run_array(const Op& op) {
  CUarray& array = arrays_[op["a"]];
  switch (op.code) {
    case Code::kArray: {
      CUDA_ARRAY3D_DESCRIPTOR shape{};
      shape.Width = op["w"];
      shape.Height = op["h"];
      shape.Depth = op["d"];
      shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
      shape.NumChannels = 1;
      shape.Flags = op["layered"] ? CUDA_ARRAY3D_LAYERED : 0;
      CUarray value = nullptr;
      const CUresult result = driver_.cuArray3DCreate_v2(&value, &shape);
      return made(result, value, array);
    }
    case Code::kArrayEnd:
      return {driver_.cuArrayDestroy(array)};
    case Code::kDescribe: {
      Answer out;
      out.result = driver_.cuArray3DGetDescriptor_v2(&out.shape, array);
      return out;
    }
    case Code::kRow:
      return {driver_.cuMemcpyAtoA_v2(array, op["x"], arrays_[op["b"]], op["sx"], op["w"])};
    case Code::kFlat: {
      CUDA_MEMCPY2D copy{};
      copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
      copy.dstArray = array;
      copy.dstXInBytes = op["x"];
      copy.dstY = op["y"];
      copy.srcArray = arrays_[op["b"]];
      copy.srcXInBytes = op["sx"];
      copy.srcY = op["sy"];
      copy.WidthInBytes = op["w"];
      copy.Height = op["h"];
      return {driver_.cuMemcpy2D_v2(&copy)};
    }
    default:
      return copy_block(op);
  }
}

Answer Machine::copy_block(const Op& op) {
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = op["w"];
  copy.Height = op["h"];
  copy.Depth = op["d"];
  const auto array_is_target = [&](CUmemorytype from) {
    copy.srcMemoryType = from;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = arrays_[op["a"]];
    copy.dstXInBytes = op["x"];
    copy.dstY = op["y"];
    copy.dstZ = op["z"];
  };
  const auto array_is_source = [&](CUmemorytype to) {
    copy.dstMemoryType = to;
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = arrays_[op["a"]];
    copy.srcXInBytes = op["x"];
    copy.srcY = op["y"];
    copy.srcZ = op["z"];
  };
  Answer out;
  const std::size_t bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  switch (op.code) {
    case Code::kWrite:
      out.bytes = bytes_of(op["value"], std::max<std::size_t>(bytes, 1));
      array_is_target(CU_MEMORYTYPE_HOST);
      copy.srcHost = out.bytes.data();
      copy.srcPitch = copy.WidthInBytes;
      copy.srcHeight = copy.Height;
      break;
    case Code::kReadBack:
      out.bytes.resize(std::max<std::size_t>(bytes, 1));
      array_is_source(CU_MEMORYTYPE_HOST);
      copy.dstHost = out.bytes.data();
      copy.dstPitch = copy.WidthInBytes;
      copy.dstHeight = copy.Height;
      break;
    case Code::kAcross:
      array_is_target(CU_MEMORYTYPE_ARRAY);
      copy.srcArray = arrays_[op["b"]];
      copy.srcXInBytes = op["sx"];
      copy.srcY = op["sy"];
      copy.srcZ = op["sz"];
      break;
    case Code::kFromMemory:
      array_is_target(CU_MEMORYTYPE_DEVICE);
      copy.srcDevice = address(op["m"], op["at"]);
      copy.srcPitch = op["pitch"];
      copy.srcHeight = op["height"];
      break;
    default:
      array_is_source(CU_MEMORYTYPE_DEVICE);
      copy.dstDevice = address(op["m"], op["at"]);
      copy.dstPitch = op["pitch"];
      copy.dstHeight = op["height"];
      break;
  }
  out.result = driver_.cuMemcpy3D_v2(&copy);
  return out;
}

Answer Machine::run_memory(const Op& op) {
  const CUdeviceptr at = address(op["m"], op["at"]);
  if (op.code == Code::kFill) {
    return {driver_.cuMemsetD8_v2(at, static_cast<unsigned char>(op["value"]), op["w"])};
  }
  Answer out;
  out.bytes.resize(op["w"] + 1);
  out.result = driver_.cuMemcpyDtoH_v2(out.bytes.data(), at, op["w"]);
  return out;
}

Answer Machine::run_graph(const Op& op) {
  switch (op.code) {
    case Code::kGraph:
    case Code::kClone: {
      CUgraph value = nullptr;
      const CUresult result = op.code == Code::kGraph
                                  ? driver_.cuGraphCreate(&value, 0)
                                  : driver_.cuGraphClone(&value, graphs_[op["child"]]);
      const Answer out = made(result, value, graphs_[op["g"]]);
      if (result == CUDA_SUCCESS) last_[op["g"]] = nullptr;
      return out;
    }
    case Code::kGraphEnd:
      return {driver_.cuGraphDestroy(graphs_[op["g"]])};
    case Code::kCountNodes: {
      std::size_t count = 0;
      const CUresult result = driver_.cuGraphGetNodes(graphs_[op["g"]], nullptr, &count);
      return {result, count};
    }
    case Code::kInstantiate: {
      CUgraphExec value = nullptr;
      const CUresult result = driver_.cuGraphInstantiateWithFlags(&value, graphs_[op["g"]], 0);
      return made(result, value, executables_[op["e"]]);
    }
    case Code::kLaunch: {
      const CUresult result = driver_.cuGraphLaunch(executables_[op["e"]], nullptr);
      return {result != CUDA_SUCCESS ? result : driver_.cuCtxSynchronize()};
    }
    case Code::kExecutableEnd:
      return {driver_.cuGraphExecDestroy(executables_[op["e"]])};
    case Code::kFree: {
      const CUdeviceptr at = memories_[op["m"]];
      if (!op["async"]) return {driver_.cuMemFree_v2(at)};
      const CUresult result = driver_.cuMemFreeAsync(at, nullptr);
      return {result != CUDA_SUCCESS ? result : driver_.cuCtxSynchronize()};
    }
    default:
      return add_node(op);
  }
}

Answer Machine::add_node(const Op& op) {
  CUgraph graph = graphs_[op["g"]];
  CUgraphNode& last = last_[op["g"]];
  const std::size_t after = last ? 1 : 0;
  CUgraphNode node = nullptr;
  Answer out;
  switch (op.code) {
    case Code::kEmptyNode:
      out.result = driver_.cuGraphAddEmptyNode(&node, graph, &last, after);
      break;
    case Code::kFillNode: {
      CUDA_MEMSET_NODE_PARAMS fill{};
      fill.dst = address(op["m"], op["at"]);
      fill.value = op["value"];
      fill.elementSize = op["size"];
      fill.width = op["w"];
      fill.height = 1;
      out.result = driver_.cuGraphAddMemsetNode(&node, graph, &last, after, &fill, context_);
      break;
    }
    case Code::kCopyNode: {
      CUDA_MEMCPY3D copy{};
      copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.dstDevice = address(op["m"], op["at"]);
      copy.srcDevice = address(op["n"], op["from"]);
      copy.srcPitch = copy.dstPitch = copy.WidthInBytes = op["w"];
      copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1;
      out.result = driver_.cuGraphAddMemcpyNode(&node, graph, &last, after, &copy, context_);
      break;
    }
    case Code::kChildNode:
      out.result =
          driver_.cuGraphAddChildGraphNode(&node, graph, &last, after, graphs_[op["child"]]);
      break;
    case Code::kAllocNode: {
      CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
      alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      alloc.bytesize = op["bytes"];
      out.result = driver_.cuGraphAddMemAllocNode(&node, graph, &last, after, &alloc);
      out = made(out.result, alloc.dptr, memories_[op["m"]]);
      break;
    }
    default:
      out.result = driver_.cuGraphAddMemFreeNode(&node, graph, &last, after, memories_[op["m"]]);
      break;
  }
  if (out.result == CUDA_SUCCESS) last = node;
  return out;
}

Answer Machine::run_code(const Op& op) {
  switch (op.code) {
    case Code::kModule: {
      CUmodule value = nullptr;
      const CUresult result = driver_.cuModuleLoadData(&value, kTexts[op["text"]].ptx);
      return made(result, value, modules_[op["u"]]);
    }
    case Code::kModuleEnd:
      return {driver_.cuModuleUnload(modules_[op["u"]])};
    case Code::kFunction: {
      CUfunction value = nullptr;
      const CUresult result =
          driver_.cuModuleGetFunction(&value, modules_[op["u"]], kKernels[op["name"]]);
      return made(result, value, functions_[op["f"]]);
    }
    case Code::kGlobal:
    case Code::kLibraryGlobal: {
      CUdeviceptr value = 0;
      std::size_t size = 0;
      const char* const name = kVariables[op["name"]];
      const CUresult result =
          op.code == Code::kGlobal
              ? driver_.cuModuleGetGlobal_v2(&value, &size, modules_[op["u"]], name)
              : driver_.cuLibraryGetGlobal(&value, &size, libraries_[op["l"]], name);
      Answer out = made(result, value, memories_[op["m"]]);
      out.size = size;
      return out;
    }
    case Code::kLibrary: {
      CUlibrary value = nullptr;
      const CUresult result = driver_.cuLibraryLoadData(&value, kTexts[op["text"]].ptx, nullptr,
                                                        nullptr, 0, nullptr, nullptr, 0);
      return made(result, value, libraries_[op["l"]]);
    }
    case Code::kLibraryEnd:
      return {driver_.cuLibraryUnload(libraries_[op["l"]])};
    case Code::kKernel: {
      CUkernel value = nullptr;
      const CUresult result =
          driver_.cuLibraryGetKernel(&value, libraries_[op["l"]], kKernels[op["name"]]);
      // cuda.h: a kernel may stand for a function in a launch.
      return made(result, reinterpret_cast<CUfunction>(value), functions_[op["f"]]);
    }
    case Code::kLibraryModule: {
      CUmodule value = nullptr;
      const CUresult result = driver_.cuLibraryGetModule(&value, libraries_[op["l"]]);
      return made(result, value, modules_[op["u"]]);
    }
    default:
      return launch(op);
  }
}

Answer Machine::launch(const Op& op) {
  CUdeviceptr to = address(op["m"], op["at"]);
  unsigned value = op["value"];
  void* parameters[] = {&to, &value};
  const CUresult result = driver_.cuLaunchKernel(functions_[op["f"]], 1, 1, 1, 1, 1, 1, 0, nullptr,
                                                 parameters, nullptr);
  return {result != CUDA_SUCCESS ? result : driver_.cuCtxSynchronize()};
}

}  // namespace cuvmm::fuzz::objects
