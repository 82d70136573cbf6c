// SPDX-License-Identifier: Apache-2.0
// Executes statements in this process, on this thread or on the threads that the statements name.
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

/// The value of a name.
struct Binding {
  enum class Kind : std::uint8_t { kNone, kNumber, kDescriptor, kBuffer };
  Kind kind = Kind::kNone;   ///< kNone: the statement that should have bound it failed
  std::uint64_t number = 0;  ///< the value, the descriptor, or the buffer's address
  std::size_t size = 0;      ///< bytes of the buffer
};

/// One process's part of a program. Names, buffers and threads live as long as the session.
/// Descriptors stay open until the program closes them.
class Session : private NameSource {
 public:
  /// `driver` is copied; the library it came from must stay loaded.
  explicit Session(const Driver& driver);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs one statement to its end; `exit()` ends the process from here. A statement of another
  /// thread runs on that thread while the caller waits, so that events have one order.
  Outcome execute(const Statement& statement);

  /// Gives bindings to other processes.
  const Binding* binding(std::string_view name) const;
  void bind(const std::string& name, Binding binding);
  /// A buffer that lives as long as the session, zeroed or filled.
  void* buffer(std::size_t size, unsigned char fill) override;

 private:
  std::optional<std::uint64_t> lookup(std::string_view name) override;
  std::span<const unsigned char> bytes(std::string_view name) const override;
  std::string missing(std::string_view name) const override;
  /// Bytes from `address` to the end of the host buffer that `value` names; `value` gave the
  /// address. Nothing if `value` names no host buffer.
  std::optional<std::uint64_t> room(const Value& value, std::uint64_t address) const;

  Outcome run(const Statement& statement);
  Outcome run_call(const Statement& statement, const BoundArguments& bound);
  Outcome run_pseudo(const Statement& statement, const BoundArguments& bound);
  /// Does the work of a pseudo-call with these two numbers, or with this path. Returns the binding
  /// for the statement's name.
  Binding perform(const BoundArguments& bound, const std::uint64_t* values, const std::string& path,
                  Outcome& outcome);
  /// Whether two buffers hold equal bytes, or two numbers are equal.
  bool same(const BoundArguments& bound, const std::uint64_t* values) const;
  CUresult make_current(int device, CUcontext* context);
  void take_outputs(const Statement& statement, const FunctionSignature& signature, CUresult result,
                    const Call& call, const CallStorage& storage, Outcome& outcome);

  Driver driver_;
  std::map<std::string, Binding, std::less<>> bindings_;
  std::vector<std::vector<unsigned char>> buffers_;
  std::map<int, std::unique_ptr<Worker>> workers_;
};

/// Runs every statement in this process, even if it names another. Returns the outcomes in order.
std::vector<Outcome> run_here(const Driver& driver, const Program& program);

}  // namespace cuvmm::program
