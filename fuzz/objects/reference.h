// SPDX-License-Identifier: Apache-2.0
// The answers that a driver must give to a program about objects: plain lists, written from cuda.h
// and from the answers of an H100 (driver 580.159.04), and not from the emulator.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/objects/code.h"
#include "fuzz/objects/machine.h"
#include "fuzz/objects/op.h"

namespace cuvmm::fuzz::objects {

struct Expectation {
  bool skip = false;     ///< the call is not made: no document says what it does, or names are free
  bool refused = false;  ///< any error is right
  CUresult result = CUDA_SUCCESS;
};

inline constexpr Expectation kSkip{.skip = true};
inline constexpr Expectation kRefused{.refused = true};
inline constexpr Expectation kInvalid{.result = CUDA_ERROR_INVALID_VALUE};
inline constexpr Expectation kUnsupported{.result = CUDA_ERROR_NOT_SUPPORTED};

template <class T>
bool lives(const std::shared_ptr<T>& object) {
  return object && object->live;
}

class Reference {
 public:
  /// Forgets everything but the linear memory, whose bytes are 0 from now on.
  void begin();
  Expectation expect(const Op& op) const;
  /// Follows a call that was answered as expected. Returns what is wrong beside the result, or "".
  std::string accept(const Op& op, const Answer& answer);
  /// Follows a call that was refused as expected.
  void refuse(const Op& op);
  /// The calls that end all objects that live.
  Ops clean_up() const;

 private:
  struct Block {
    std::vector<int> bytes;     ///< -1: unknown
    std::uint64_t address = 0;  ///< 0: not known, because the memory is the linear one
    bool live = true;
    bool of_graph = false;  ///< an allocation node gives it
  };
  using BlockPtr = std::shared_ptr<Block>;
  struct Array {
    std::uint64_t handle;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    std::size_t width, height, depth;  ///< none is 0
    std::vector<int> bytes;
    bool live = true;
    int& byte(std::size_t x, std::size_t y, std::size_t z) {
      return bytes[(z * height + y) * width + x];
    }
  };
  struct Node {
    enum class Kind { kEmpty, kFill, kCopy, kChild, kAlloc, kFree } kind = Kind::kEmpty;
    BlockPtr to, from;
    unsigned at = 0, from_at = 0, bytes = 0, value = 0, size = 1;
    std::vector<Node> child = {};
  };
  using Nodes = std::vector<Node>;
  struct Graph {
    Nodes nodes;
    std::uint64_t handle = 0;
    bool live = true;
    bool memory = false;             ///< it has a node of memory
    bool instantiated = false;       ///< ever
    unsigned executables = 0;        ///< that live
    bool plain_executables = false;  ///< one was made, ever, before there was a node of memory
  };
  struct Executable {
    Nodes nodes;
    std::shared_ptr<Graph> graph;
    std::uint64_t handle = 0;
    bool live = true;
  };
  /// A module or a library.
  struct Loaded {
    const Text* text;
    std::uint64_t handle;
    bool live = true;
    BlockPtr variables[2] = {};            ///< by their index in kVariables
    std::shared_ptr<Loaded> library = {};  ///< of which it is the module
  };
  struct Function {
    std::shared_ptr<Loaded> code;
    unsigned name;
  };
  template <class T>
  using Names = std::array<std::shared_ptr<T>, kNames>;

  // By area; each returns what Expectation says.
  Expectation expect_array(const Op& op) const;
  Expectation expect_copy(const Op& op) const;
  Expectation expect_memory(const Op& op) const;
  Expectation expect_graph(const Op& op) const;
  Expectation expect_node(const Op& op) const;
  Expectation expect_memory_node(const Op& op) const;
  Expectation expect_executable(const Op& op) const;
  Expectation expect_code(const Op& op) const;
  Expectation expect_question(const Op& op) const;
  Expectation expect_run(const Op& op) const;

  std::string accept_array(const Op& op, const Answer& answer);
  std::string accept_graph(const Op& op, const Answer& answer);
  void accept_node(const Op& op, const Answer& answer);
  std::string accept_code(const Op& op, const Answer& answer);
  std::string accept_variable(const Op& op, const Answer& answer);
  std::string read_back(const Op& op, const Answer& answer) const;
  void copy_arrays(const Op& op);

  /// The memory of a name that the graph has at its end, or that lives outside of it.
  bool usable_in(const Graph& graph, const BlockPtr& block) const;
  /// Whether the launch of these nodes touches only memory that lives at that time.
  static bool runs(const Nodes& nodes);
  static void run(const Nodes& nodes);
  /// Whether a live memory lies where this one was.
  bool reused(const Block& block) const;

  Names<Array> arrays_;
  Names<Block> memories_;
  Names<Graph> graphs_;
  Names<Executable> executables_;
  Names<Loaded> modules_, libraries_;
  Names<Function> functions_;
  std::vector<BlockPtr> blocks_;  ///< all that were ever made
};

}  // namespace cuvmm::fuzz::objects
