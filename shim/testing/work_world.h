// SPDX-License-Identifier: Apache-2.0
// A session over a driver whose streams finish when the test decides, for tests of work in flight.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/driver/expect_ok.h"
#include "api/sizes.h"
#include "shim/session/session_run.h"
#include "shim/testing/answering_driver.h"
#include "shim/testing/findings.h"

namespace cuvmm::shim {

/// The answers of a WorkWorld's driver. Only one object is in use at a time.
struct WorkAnswers {
  std::map<CUstream, CUresult> queries;       ///< for a stream; missing: SUCCESS
  std::map<CUevent, CUresult> event_queries;  ///< for an event; if it is missing: SUCCESS
  std::map<CUevent, CUstream> event_streams;  ///< cuvmm's own events, and the streams on which they
                                              ///< were recorded
  std::set<CUstream> capturing;
  std::set<CUstream> non_blocking;
  std::map<std::uint64_t, CUmemorytype> places;  ///< for an address; missing: pageable
  std::set<std::uint64_t> managed, sync_memops;  ///< addresses
  std::vector<std::string> asked;                ///< the names of the functions that cuvmm called,
                                                 ///< in order
  CUcontext context = reinterpret_cast<CUcontext>(std::uintptr_t{0xc0});
  CUdeviceptr pool_memory = 0x300000000;   ///< the address of the next allocation from a pool
  CUdeviceptr plain_memory = 0x400000000;  ///< the address of the next plain memory, host memory
                                           ///< too
  std::function<void()> while_launching;   ///< called before a launch returns
  std::function<void()> while_telling;     ///< called before a call with a host function returns
  CUresult host_function = CUDA_SUCCESS;
  std::function<void()> while_allocating;  ///< called before an allocation of a pool returns
  std::function<void()> while_recording;   ///< called once, before cuvmm records one of its events
  std::function<void()> while_asked;       ///< called once, before a stream's query returns
  bool cancels = false;                    ///< each question is a cancellation point
  CUresult free_async = CUDA_SUCCESS;
  CUresult launch = CUDA_SUCCESS;
  std::uintptr_t exec = 0x9e;  ///< the executable graph that the next instantiation makes
  CUresult graph_launch = CUDA_SUCCESS;
  CUresult unmap = CUDA_SUCCESS;
  CUresult change = CUDA_SUCCESS;  ///< the answer to changes of graphs
  /// Offset and size of each parameter of the one function; empty: the driver does not give them.
  std::vector<std::pair<std::size_t, std::size_t>> layout;
  bool tells_layout = true;
  /// The name of the one function in the driver. "": each word is a pointer by its type, and other
  /// parameters are numbers or structs.
  std::string name;
  CUmodule module =
      reinterpret_cast<CUmodule>(std::uintptr_t{0x30d});  ///< the module of the function, and the
                                                          ///< handle of all loaded code
  /// The nodes of every graph: kernels, then fills, then one node of another kind.
  std::vector<CUDA_KERNEL_NODE_PARAMS_v2> kernel_nodes;
  std::vector<CUDA_MEMSET_NODE_PARAMS> fill_nodes;
  std::optional<CUgraphNodeType> other_node;
  /// In place of all these: the nodes and the edges of each graph, as handles from 1 on.
  struct Node {
    CUgraphNodeType type{};
    UsedRange memory;                     ///< the memory of a node that allocates, frees or fills
    CUDA_KERNEL_NODE_PARAMS_v2 kernel{};  ///< the parameters of a kernel node
    CUgraph child = nullptr;              ///< the graph of a child graph's node
  };
  struct Graph {
    std::vector<std::uintptr_t> nodes;
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> edges;
  };
  std::map<std::uintptr_t, Node> nodes;
  std::map<CUgraph, Graph> graphs;
  CUresult edges = CUDA_SUCCESS;  ///< the answer to the question for edges
  std::uintptr_t events = 0xee00;
  unsigned modes_changed = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

  static inline WorkAnswers* now = nullptr;
};

Questions work_questions();
Driver work_driver();

class WorkWorld : public testing::Test {
 protected:
  static constexpr CUdeviceptr kBase = 0x700000000000;
  static constexpr std::size_t kSize = 2 * kGranule;

  WorkWorld() { WorkAnswers::now = &answers; }
  ~WorkWorld() override { WorkAnswers::now = nullptr; }

  /// The functions below make calls through session(), which is made with these options.
  Session& session() {
    if (!session_) {
      session_.emplace(
          driver_,
          SessionOptions{.emulated = emulated, .work = {mode, unordered, work_questions()}}, sink);
    }
    return *session_;
  }
  template <class CallStruct>
  [[gnu::noinline]] CUresult run(const CallStruct& call) {
    return session().run(Driver::primary_symbol(CallStruct::kEntryPoint), call, CUVMM_CALLER);
  }
  template <class CallStruct>
  [[gnu::noinline]] CUresult run_as(Symbol symbol, const CallStruct& call) {
    return session().run(symbol, call, CUVMM_CALLER);
  }

  /// Makes a reservation with one mapping, which device 0 may use.
  void map(CUdeviceptr base = kBase, std::size_t size = kSize, bool access = true);
  void unmap(CUdeviceptr base = kBase, std::size_t size = kSize) {
    EXPECT_EQ(run(calls::MemUnmap{base, size}), CUDA_SUCCESS);
  }
  /// Launches a kernel with these parameters of 8 bytes each.
  CUresult launch(CUstream stream, std::vector<std::uint64_t> words);
  void busy(CUstream stream) { answers.queries[stream] = CUDA_ERROR_NOT_READY; }
  void idle(CUstream stream) { answers.queries.erase(stream); }
  static CUstream stream(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }
  static CUevent event(std::uintptr_t number) { return reinterpret_cast<CUevent>(number); }
  static CUfunction function() { return reinterpret_cast<CUfunction>(std::uintptr_t{0xf1}); }
  using Rules = std::vector<std::string>;
  Rules findings() const { return sink.rules(); }
  std::size_t asked(const std::string& what) const {
    return static_cast<std::size_t>(std::count(answers.asked.begin(), answers.asked.end(), what));
  }

  WorkAnswers answers;
  AsyncMode mode = AsyncMode::kObserved;
  bool unordered = false, emulated = true;
  Findings sink;
  CUstream s_ = stream(0x51), t_ = stream(0x52);
  CUevent e_ = event(0xe1);

 private:
  const Driver driver_ = work_driver();
  std::optional<Session> session_;
};

}  // namespace cuvmm::shim
