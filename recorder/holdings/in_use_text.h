// SPDX-License-Identifier: Apache-2.0
// Writes one sentence about the objects that a process has not ended, for the shim and for `cuvmm
// run`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/words.h"
#include "recorder/holdings/counted.h"

namespace cuvmm::holdings {

inline constexpr const char* kInUse = "still in use";
inline constexpr const char* kEndedWithContext = "freed only by the end of its context";

/// Objects of one kind. Where several places made them, `made_at` is the place that made most.
struct Sum {
  std::string what;  ///< the noun for one object, as counted() takes it: "piece of cuMemAlloc"
  std::uint64_t count = 0, bytes = 0;
  std::string made_at = {};
  std::uint64_t made_there = 0;
};

/// Host memory that the program registered, never unregistered, and unmapped.
inline constexpr const char* kUnmappedWords = "registered range of unmapped host memory";

/// A descriptor that cuMemPoolExportToShareableHandle made.
inline constexpr const char* kPoolDescriptorWords = "descriptor of an exported pool";

/// Whether the report shall mention that one place made so many objects, because the program may
/// reach that place again and again. A program may well keep several buffers that one line made; it
/// seldom has two contexts, and it does not unmap registered memory.
inline bool grows(std::string_view what, std::uint64_t made_there, std::uint64_t count) {
  if (what == kUnmappedWords) return true;
  const std::uint64_t many = what == "context" || what == "green context" ? 2 : 8;
  return made_there >= many && made_there > count / 2;
}

/// The functions that end objects of a kind: the driver's, and the runtime's if it has one.
struct Ender {
  std::string_view what, driver, runtime;
};
inline const Ender* find_ender(std::string_view what) {
  static constexpr Ender kEnders[] = {
      {"piece of cuMemAlloc", "cuMemFree", "cudaFree"},
      {"piece of managed memory", "cuMemFree", "cudaFree"},
      {"piece of page-locked host memory", "cuMemFreeHost", "cudaFreeHost"},
      {"registered range of host memory", "cuMemHostUnregister", "cudaHostUnregister"},
      {kUnmappedWords, "cuMemHostUnregister", "cudaHostUnregister"},
      {"piece of pool memory", "cuMemFreeAsync", "cudaFreeAsync"},
      {"imported piece of pool memory", "cuMemFreeAsync", "cudaFreeAsync"},
      {"piece of graph memory", "cuMemFreeAsync", "cudaFreeAsync"},
      {"pool", "cuMemPoolDestroy", "cudaMemPoolDestroy"},
      {"array", "cuArrayDestroy", "cudaFreeArray"},
      {"mipmapped array", "cuMipmappedArrayDestroy", "cudaFreeMipmappedArray"},
      {"stream", "cuStreamDestroy", "cudaStreamDestroy"},
      {"event", "cuEventDestroy", "cudaEventDestroy"},
      {"context", "cuCtxDestroy", ""},
      {"green context", "cuGreenCtxDestroy", ""},
      {"retain of a primary context", "cuDevicePrimaryCtxRelease", ""},
      {"module", "cuModuleUnload", ""},
      {"library", "cuLibraryUnload", "cudaLibraryUnload"},
      {"graph", "cuGraphDestroy", "cudaGraphDestroy"},
      {"executable graph", "cuGraphExecDestroy", "cudaGraphExecDestroy"},
      {"texture object", "cuTexObjectDestroy", "cudaDestroyTextureObject"},
      {"surface object", "cuSurfObjectDestroy", "cudaDestroySurfaceObject"},
      {"user object", "cuUserObjectRelease", "cudaUserObjectRelease"},
      {"multicast object", "cuMemRelease", ""},
      {"empty reservation", "cuMemAddressFree", ""},
      {"descriptor of a dma-buf", "close", ""},
      {"exported descriptor", "close", ""},
      {kPoolDescriptorWords, "close", ""},
      {"received descriptor of imported memory", "close", ""},
      {"open of IPC memory", "cuIpcCloseMemHandle", "cudaIpcCloseMemHandle"},
  };
  for (const Ender& one : kEnders) {
    if (what == one.what) return &one;
  }
  return nullptr;
}

/// The driver's function that ends one of these objects; "" where several functions can.
inline std::string_view ender(std::string_view what) {
  const Ender* const known = find_ender(what);
  return known ? known->driver : std::string_view();
}

/// How a program gives such objects back. `runtime`: a function of the runtime made them.
inline std::string giving_back(std::string_view what, std::uint64_t count, bool runtime) {
  const std::string for_each = count == 1 ? "" : " for each of them";
  const std::string before = " before the process ends.";
  if (const Ender* const known = find_ender(what)) {
    const bool by_runtime = runtime && !known->runtime.empty();
    return "call " + std::string(by_runtime ? known->runtime : known->driver) + for_each + before;
  }
  if (what == "reservation")
    return "call cuMemUnmap for what is mapped in it, and then cuMemAddressFree" + for_each +
           before;
  return "call cuMemUnmap for each of its mappings, and cuMemRelease for each of its handles" +
         before;
}

/// "3 pieces of cuMemAlloc (48 MiB)"; with a place: "..., all made in frame() at decoder.cc:5
/// without a cuMemFree".
inline std::string sum_text(const Sum& sum) {
  std::string text = counted(sum.count, sum.what);
  if (sum.bytes != 0) text += " (" + size_text(sum.bytes) + ")";
  if (sum.made_at.empty()) return text;
  text += sum.made_there == sum.count ? std::string(sum.count == 1 ? "," : ", all")
                                      : ", " + std::to_string(sum.made_there) + " of them";
  text += " made in " + sum.made_at;
  if (const std::string_view function = ender(sum.what); !function.empty()) {
    text += " without a " + std::string(function);
  }
  return text;
}

/// `in_use` and `ended` are lists such as "3 pieces of cuMemAlloc (48 MiB), 2 streams", or "" for
/// none. `listed`: the report already names each object. Returns "" where both are empty.
inline std::string in_use_sentence(const std::string& in_use, const std::string& ended,
                                   bool listed) {
  std::string text;
  if (!in_use.empty()) text = std::string(kInUse) + " at the end: " + in_use;
  if (!ended.empty()) {
    if (!text.empty()) text += "; ";
    text += std::string(kEndedWithContext) + ": " + ended;
  }
  if (!text.empty() && !listed) text += "; --leak-check=full lists them";
  return text;
}

}  // namespace cuvmm::holdings
