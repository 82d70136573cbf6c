// SPDX-License-Identifier: Apache-2.0
#include "fuzz/objects/mistakes.h"

#include <string>

namespace cuvmm::fuzz::objects {

namespace {

// The driver behind the mistake; a function of the API has no argument that could tell it.
Functions behind;

CUresult copy_from_first_layer(const CUDA_MEMCPY3D* copy) {
  CUDA_MEMCPY3D wrong = *copy;
  if (wrong.srcMemoryType == CU_MEMORYTYPE_ARRAY) wrong.srcZ = 0;
  return behind.cuMemcpy3D_v2(&wrong);
}
CUresult copy_a_byte_less(CUarray to, std::size_t at, CUarray from, std::size_t start,
                          std::size_t bytes) {
  return behind.cuMemcpyAtoA_v2(to, at, from, start, bytes > 1 ? bytes - 1 : bytes);
}
CUresult forget_layered(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  CUDA_ARRAY3D_DESCRIPTOR wrong = *shape;
  wrong.Flags = 0;
  return behind.cuArray3DCreate_v2(out, &wrong);
}
CUresult leave_child_out(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                         std::size_t count, CUgraph) {
  return behind.cuGraphAddEmptyNode(out, graph, after, count);
}
CUresult launch_again(CUgraphExec executable, CUstream stream) {
  behind.cuGraphLaunch(executable, stream);
  return CUDA_SUCCESS;
}
CUresult free_nothing(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
                      CUdeviceptr) {
  return behind.cuGraphAddEmptyNode(out, graph, after, count);
}
CUresult keep_module(CUmodule) { return CUDA_SUCCESS; }
CUresult name_is_invalid(CUfunction* out, CUmodule module, const char* name) {
  const CUresult result = behind.cuModuleGetFunction(out, module, name);
  return result == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_INVALID_VALUE : result;
}
CUresult next_word(CUdeviceptr* out, std::size_t* bytes, CUlibrary library, const char* name) {
  const CUresult result = behind.cuLibraryGetGlobal(out, bytes, library, name);
  if (result == CUDA_SUCCESS) *out += 4;
  return result;
}

constexpr Mistake kMistakes[] = {
    {"array-layer", "a block is read from the first layer of an array"},
    {"array-byte", "cuMemcpyAtoA copies a byte less"},
    {"array-layered", "a layered array is made as one of three dimensions"},
    {"graph-child", "a child graph is left out"},
    {"graph-again", "memory of the last launch may be left at the next one"},
    {"graph-free", "a free node frees nothing"},
    {"module-unload", "a module that was unloaded stays"},
    {"module-name", "an unknown kernel is an invalid value"},
    {"library-variable", "a library's variable begins four bytes further"}};

}  // namespace

std::span<const Mistake> mistakes() { return kMistakes; }

Functions with_mistake(const Functions& driver, std::string_view name) {
  behind = driver;
  Functions out = driver;
  const auto is = [&](std::string_view one) { return name == one; };
  if (is("array-layer"))
    out.cuMemcpy3D_v2 = copy_from_first_layer;
  else if (is("array-byte"))
    out.cuMemcpyAtoA_v2 = copy_a_byte_less;
  else if (is("array-layered"))
    out.cuArray3DCreate_v2 = forget_layered;
  else if (is("graph-child"))
    out.cuGraphAddChildGraphNode = leave_child_out;
  else if (is("graph-again"))
    out.cuGraphLaunch = launch_again;
  else if (is("graph-free"))
    out.cuGraphAddMemFreeNode = free_nothing;
  else if (is("module-unload"))
    out.cuModuleUnload = keep_module;
  else if (is("module-name"))
    out.cuModuleGetFunction = name_is_invalid;
  else if (is("library-variable"))
    out.cuLibraryGetGlobal = next_word;
  else
    out.error = "no mistake '" + std::string(name) + "'";
  return out;
}

}  // namespace cuvmm::fuzz::objects
