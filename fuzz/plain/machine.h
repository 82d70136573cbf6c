// SPDX-License-Identifier: Apache-2.0
// Makes the calls of a program about plain memory, and turns the answers into numbers that do not
// depend on the driver's layout.
#pragma once

#include "fuzz/plain/driver.h"
#include "fuzz/plain/op.h"

namespace cuvmm::fuzz::plain {

/// The facts about an op, beside its answer, that a comparison needs.
struct Step {
  Answer answer;
  Kind kind = Kind::kNone;  ///< kind of the op's block; for a copy, of the destination
  Kind kind2 = Kind::kNone;
  bool dead = false;  ///< the block was freed
  bool outside =
      false;  ///< not in a block of the program, or at an unknown place, so neighbours decide
  bool by_layout = false;   ///< the driver's alignment of the block decides about `outside`
  bool value_open = false;  ///< the value depends on bytes that no call wrote
};

class Machine {
 public:
  /// Initialises the driver; error() says what failed.
  explicit Machine(const Functions& functions);
  const std::string& error() const { return error_; }
  int devices() const { return devices_; }

  /// Must be called before each program: nothing is bound, and the first context is current.
  void start();
  Step step(const Op& op);
  /// Frees what the program left; false when the driver refuses, or cannot be used any more.
  bool finish();
  /// Whether a call returned an error from which the context does not recover.
  bool broken() const { return broken_; }

 private:
  struct Block {
    Kind kind = Kind::kNone;
    bool live = false;
    std::uint64_t device = 0;  ///< address for the device, or for pageable memory
    std::uint64_t host = 0;    ///< address for the CPU; 0: none
    std::uint64_t size = 0, pitch = 0, width = 0, height = 1;
    bool read_only = false;      ///< registered memory that may only be read
    bool of_host = false;        ///< mapped memory on the host
    bool sealed = false;         ///< mapped host memory without access for any device
    unsigned pool = 0;           ///< pool of the memory: a name, or kDefaultPool
    bool first_of_pool = false;  ///< the first memory of its pool in this program
    std::uint64_t region = 0,
                  region_size = 0;  ///< extent of the recorder's own memory or reservation
    CUmemGenericAllocationHandle handles[2] = {};
    unsigned born = 0;  ///< number of allocations before it
    unsigned died = 0;  ///< number of allocations before it was freed
  };
  static constexpr unsigned kDefaultPool = 100;
  static constexpr std::uint64_t kBuffer = 64 << 20;
  /// An address that an op names.
  struct Spot {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;  ///< in the block
    unsigned name = 0;
    bool inside = false;     ///< within the block's bytes
    bool by_layout = false;  ///< depends on the driver's alignment of the block
    bool near =
        false;  ///< within the block, or within the size to which small allocations are rounded up
  };
  /// One side of a copy or a fill.
  struct Side {
    Spot spot;
    std::uint64_t extent = 0;  ///< bytes from the spot to the end; 0: none
  };

  // machine.cc
  CUresult memory(const Op& op, Step& step);
  CUresult allocate(const Op& op, Step& step);
  CUresult do_register(const Op& op);
  CUresult map(const Op& op);
  CUresult unmap(Block& block);
  CUresult unregister(const Op& op, const Spot& spot);
  CUresult release(Block& block);
  void bind(unsigned name, Block block);
  void bury(Block& block);
  void fill_new(const Block& block, unsigned name);
  void reset_pool();
  CUstream stream(std::uint8_t form) const;
  CUresult settle(CUresult result, CUstream stream);
  Spot spot(std::uint8_t ref, std::uint8_t at) const;
  bool beside_host_memory(const Op& op, const Spot& at) const;
  void describe(const Spot& spot, Step& step) const;
  Kind kind_of(std::uint8_t ref) const {
    return ref % kBlocks ? blocks_[ref % kBlocks].kind : Kind::kNone;
  }
  std::uint64_t length(const Spot& spot, std::uint8_t index) const;
  std::uint32_t pointer_value(std::uint64_t pointer, unsigned first) const;

  // machine_query.cc
  CUresult query(const Op& op, Step& step);
  CUresult attribute(const Op& op, const Spot& spot, Step& step);
  CUresult attributes(const Op& op, const Spot& spot, Step& step);
  std::uint32_t attribute_value(int attribute, std::uint64_t raw, const Spot& spot) const;
  CUresult range(const Op& op, const Spot& spot, Step& step);
  CUresult range_handle(const Op& op, const Spot& spot, Step& step);
  CUresult access(const Op& op, const Spot& spot, Step& step);

  // machine_data.cc
  CUresult data(const Op& op, Step& step);
  CUresult fill(const Op& op, Step& step);
  bool fits(const Side& side) const;
  bool dangerous(const Side& side) const;
  bool unfit(const Side& side, bool written) const;
  bool deadly(const Op& op) const;
  bool allowed(const Op& op, const Side& to, const Side* from, Step& step);
  void look(const Side& to, std::uint64_t extent, CUresult result, Step& step) const;
  std::uint64_t pitch_of(std::uint8_t index, std::uint64_t row, unsigned name) const;
  void fill_buffer();

  // machine_copy.cc
  CUresult copy(const Op& op, Step& step);
  CUresult copy_peer(const Op& op, Step& step);
  CUresult copy_batch(const Op& op, Step& step);
  template <class Descriptor>
  CUresult copy_by_descriptor(const Op& op, Step& step);
  CUresult make(const Op& op, const CUDA_MEMCPY2D& d);
  CUresult make(const Op& op, const CUDA_MEMCPY3D& d);
  CUresult make(const Op& op, CUDA_MEMCPY3D_PEER& d);
  CUcontext context(unsigned index) const {
    return index % 4 == 3 ? nullptr : contexts_[index % 4];
  }

  // machine_pool.cc
  CUresult pools(const Op& op, Step& step);
  CUresult pool_attribute(const Op& op, CUmemoryPool pool, Step& step);
  CUmemoryPool pool(std::uint8_t ref) const;
  std::uint32_t pool_value(CUmemoryPool pool) const;

  const Functions& f_;
  std::string error_;
  int devices_ = 0;
  CUcontext contexts_[3] = {};
  CUstream stream_ = nullptr;
  CUmemoryPool default_pool_ = nullptr;
  unsigned current_ = 0;
  bool broken_ = false;
  bool tainted_ = false;  ///< bytes outside of a block were written, or unknown bytes were
  unsigned allocations_ = 0;
  unsigned used_pools_ = 0;  ///< pools that gave memory: one bit each
  Block blocks_[kBlocks];
  CUmemoryPool pools_[kPools] = {};
  char* buffer_ = nullptr;  ///< pageable memory, with inaccessible pages on both sides
  std::uint64_t zero_ = 0;
};

/// Whether a context returns only this error from now on.
bool is_sticky(CUresult result);

}  // namespace cuvmm::fuzz::plain
