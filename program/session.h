// SPDX-License-Identifier: Apache-2.0
// Executes statements in this process, on this thread or on the threads that they name.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "api/posix/worker.h"
#include "program/outcome.h"
#include "program/program.h"
#include "program/resolve.h"

namespace cuvmm::program {

/// What a name stands for.
struct Binding {
  enum class Kind : std::uint8_t { kNone, kNumber, kDescriptor, kBuffer };
  Kind kind = Kind::kNone;   ///< kNone: the statement that should have bound it failed
  std::uint64_t number = 0;  ///< the value, the descriptor, or the buffer's address
  std::size_t size = 0;      ///< bytes of the buffer
};

/// One process's side of a program. Names, buffers and threads live as long as it does. Descriptors
/// stay open: a program closes what it wants closed.
class Session : private NameSource {
 public:
  /// `driver` is copied; the library it came from must stay loaded.
  explicit Session(const Driver& driver);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one statement to its end; `exit()` ends the process from here. Statements of other
  /// threads run there, while the caller waits: there is one order of events.
  Outcome execute(const Statement& statement);

  /// For names of other processes.
  const Binding* binding(std::string_view name) const;
  void bind(const std::string& name, Binding binding);
  /// A buffer that lives as long as the session, zeroed or filled.
  void* buffer(std::size_t size, unsigned char fill) override;

 private:
  std::optional<std::uint64_t> lookup(std::string_view name) override;
  std::span<const unsigned char> bytes(std::string_view name) const override;
  std::string missing(std::string_view name) const override;
  /// Bytes from `address` to the end of the host buffer that `value`, which gave it, speaks of;
  /// nothing when it speaks of none.
  std::optional<std::uint64_t> room(const Value& value, std::uint64_t address) const;

  Outcome run(const Statement& statement);
  Outcome run_call(const Statement& statement, const BoundArguments& bound);
  Outcome run_pseudo(const Statement& statement, const BoundArguments& bound);
  /// The work of a pseudo-call with these two numbers, or this path; what its name stands for.
  Binding perform(const BoundArguments& bound, const std::uint64_t* values, const std::string& path,
                  Outcome& outcome);
  /// Whether two buffers hold the same bytes, or two numbers are one.
  bool same(const BoundArguments& bound, const std::uint64_t* values) const;
  CUresult make_current(int device, CUcontext* context);
  void take_outputs(const Statement& statement, const FunctionSignature& signature, CUresult result,
                    const Call& call, const CallStorage& storage, Outcome& outcome);

  Driver driver_;
  std::map<std::string, Binding, std::less<>> bindings_;
  std::vector<std::vector<unsigned char>> buffers_;
  std::map<int, std::unique_ptr<Worker>> workers_;
};

/// Runs every statement in this process, whatever process it names. The outcomes, in order.
std::vector<Outcome> run_here(const Driver& driver, const Program& program);

}  // namespace cuvmm::program
