// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight/maker.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <vector>

namespace cuvmm::fuzz::flight {

namespace {

/// The objects that a program has made so far, if all its calls succeeded.
struct Have {
  struct Memory {
    char kind = 'm';     ///< m: mapped, p: of a pool, o: opened, b: a buffer, a: cuMemAlloc
    std::string name;    ///< with the distance from a reservation's base: "r1+2M"
    std::string object;  ///< of a buffer: its external memory
    int used_on = -1;    ///< the stream that used it last
  };
  std::vector<Memory> memory;
  std::vector<std::string> streams = {"0", "2"};  ///< the default streams first
  std::vector<std::string> events, executables;
  std::vector<std::string> empty_ranges;       ///< addresses without memory: no longer, or not yet
  std::map<std::string, std::string> kernels;  ///< names by kernel
  std::string pool;
  int threads = 1;
};

class Maker {
 public:
  Maker(Random& random, int processes) : random_(random), processes_(processes) {}
  std::string program();

 private:
  // Make the first objects of a program, and more of them later.
  void begin();
  void map();
  void add_pool_memory();
  void add_external();
  void add_opened();
  void add_stream();
  void add_graph();
  std::string capture(const std::string& stream, const std::vector<std::uint32_t>& kinds);
  // Make the calls that use the objects.
  void next();
  void touch();
  void launch_kernel(int stream);
  /// The text before the stream in a call for one node of a graph, of a random kind.
  std::string node(std::uint32_t kind);
  const std::string& kernel(const std::string& name);
  /// An address of memory; sometimes one where memory was, or never will be.
  std::string address(int stream);
  void reserve();
  void launch();
  /// The name of an event, which may be a new one.
  const std::string& event();
  void order();
  /// Lets another stream wait for the work that `stream` has so far. Returns the stream that the
  /// program may then wait for in place of the first one.
  int pass_on(int stream);
  void wait_for(int stream);
  /// Makes a call by which the program may learn that work is over, without a synchronisation.
  void tell(int stream);
  std::string buffer();
  void take();
  void take(std::size_t which);
  void release_name();

  std::string fresh(char letter) { return letter + std::to_string(++names_); }
  void say(const std::string& line) { text_ += actor_ + line + "\n"; }
  int any_stream() {
    // Prefers the program's own streams to the two default ones.
    const auto count = static_cast<std::uint32_t>(have_.streams.size());
    if (count > kDefaults && random_.chance(70)) {
      return static_cast<int>(kDefaults + random_.below(count - kDefaults));
    }
    return static_cast<int>(random_.below(kDefaults));
  }
  std::string on(int stream) {
    return ", hStream=" + have_.streams[static_cast<std::size_t>(stream)];
  }
  static std::string only(const std::string& argument) { return argument.substr(2); }
  template <class T>
  T& any(std::vector<T>& list) {
    return list[random_.below(static_cast<std::uint32_t>(list.size()))];
  }

  static constexpr std::uint32_t kDefaults = 2;
  static constexpr std::uint32_t kNodeKinds = 5;
  Random& random_;
  int processes_;
  Have have_;
  std::string text_, actor_;
  int names_ = 0;
  int kinds_ = 0;  ///< of memory, as bits
};

void Maker::map() {
  const std::string range = fresh('r'), handle = fresh('h');
  say(range + " = cuMemAddressReserve(2M)");
  say(handle + " = cuMemCreate(2M, device=0)");
  say("cuMemMap(" + range + ", 2M, " + handle + ")");
  say("cuMemSetAccess(" + range + ", 2M, [device0:rw])");
  have_.memory.push_back({'m', range, {}});
}

void Maker::add_pool_memory() {
  if (have_.pool.empty()) {
    have_.pool = fresh('o');
    say(have_.pool + " = cuMemPoolCreate({allocType=pinned, location=device0})");
  }
  const std::string name = fresh('r');
  const int stream = any_stream();
  say(name + " = cuMemAllocFromPoolAsync(2M, " + have_.pool + on(stream) + ")");
  have_.memory.push_back({'p', name, {}, stream});
}

void Maker::add_external() {
  const std::string handle = fresh('h'), fd = fresh('d'), object = fresh('x'), name = fresh('r');
  say(handle + " = cuMemCreate(2M, device=0, handle_types=posix_fd)");
  say(fd + " = cuMemExportToShareableHandle(" + handle + ", posix_fd)");
  say(object + " = cuImportExternalMemory({type=opaque_fd, fd=" + fd + ", size=2M})");
  say(name + " = cuExternalMemoryGetMappedBuffer(" + object + ", {offset=0, size=2M})");
  have_.memory.push_back({'b', name, object});
}

void Maker::add_opened() {
  const std::string there = fresh('r'), bytes = fresh('s'), name = fresh('r');
  text_ +=
      "@p1 " + there + " = cuMemAlloc(2M)\n@p1 " + bytes + " = cuIpcGetMemHandle(" + there + ")\n";
  say(name + " = cuIpcOpenMemHandle(" + bytes + ", 1)");
  have_.memory.push_back({'o', name, {}});
}

void Maker::add_stream() {
  const std::string name = fresh('t');
  say(name + " = cuStreamCreate(Flags=" + (random_.chance(50) ? "1" : "0") + ")");
  have_.streams.push_back(name);
}

void Maker::begin() {
  constexpr int kAll = 31;
  kinds_ = random_.chance(35) ? 1 : 1 + static_cast<int>(random_.below(kAll));
  if (processes_ > 1 && random_.chance(40)) kinds_ |= 8;
  const bool opens = processes_ > 1 && (kinds_ & 8) != 0;
  text_ = "cuvmm-program 1\ninit()\n" + std::string(opens ? "@p1 init()\n" : "");
  if (random_.chance(15)) {
    have_.threads = 2;
    text_ += "@t1 context(0)\n";
  }
  const unsigned streams = random_.below(4);
  for (unsigned i = 0; i < streams; ++i) add_stream();
  const unsigned pieces = 1 + random_.below(2);
  for (unsigned i = 0; i < pieces; ++i) {
    if (kinds_ & 1) map();
    if (kinds_ & 2) add_pool_memory();
    if (kinds_ & 4) add_external();
  }
  if (opens) add_opened();
  if (kinds_ & 16) {
    const std::string name = fresh('r');
    say(name + " = cuMemAlloc(2M)");
    have_.memory.push_back({'a', name, {}});
  }
}

const std::string& Maker::kernel(const std::string& name) {
  std::string& known = have_.kernels[name];
  if (known.empty()) {
    known = fresh('k');
    say(known + " = kernel(" + name + ")");
  }
  return known;
}

std::string Maker::address(int stream) {
  const bool nowhere = !have_.empty_ranges.empty() && random_.chance(12);
  if (nowhere || have_.memory.empty())
    return have_.empty_ranges.empty() ? "0" : any(have_.empty_ranges);
  Have::Memory& memory = any(have_.memory);
  memory.used_on = stream;
  return memory.name + (random_.chance(30) ? "+4096" : "");
}

void Maker::reserve() {
  have_.empty_ranges.push_back(fresh('r'));
  say(have_.empty_ranges.back() + " = cuMemAddressReserve(2M)");
}

void Maker::launch_kernel(int stream) {
  const std::uint32_t kind = random_.below(100);
  const char* const name = kind < 40   ? "fill"
                           : kind < 60 ? "copy"
                           : kind < 80 ? "nothing"
                                       : "fill_struct";
  const bool structure = kind >= 80;
  const std::string function = kernel(name);
  std::string words = address(stream) + ", " + (kind < 40 || structure ? "7" : address(stream));
  // An additional argument that may be an address; the kernel does not use it.
  words += kind >= 60 && !structure && random_.chance(30) ? ", " + address(stream) : ", 8";
  const std::string list = structure ? "[[" + words + "]]" : "[" + words + "]";
  const std::string grid = "(" + function + ", 1, 1, 1, 32, 1, 1, 0";
  if (random_.chance(10)) {
    return say("cuLaunchCooperativeKernel" + grid + ", kernelParams=" + list + on(stream) + ")");
  }
  const char* const form = random_.chance(30) ? ", extra=" : ", kernelParams=";
  say("cuLaunchKernel" + grid + form + list + on(stream) + ")");
}

void Maker::touch() {
  if (have_.memory.empty()) return;
  if (random_.chance(40)) return launch_kernel(any_stream());
  Have::Memory& memory = any(have_.memory);
  const int stream = any_stream();
  memory.used_on = stream;
  const std::uint32_t kind = random_.below(10);
  if (kind < 6) {
    say("cuMemsetD8Async(" + memory.name + ", 1, 64" + on(stream) + ")");
  } else if (kind < 8) {
    Have::Memory& other = any(have_.memory);
    other.used_on = stream;
    say("cuMemcpyDtoDAsync(" + memory.name + ", " + other.name + "+4096, 64" + on(stream) + ")");
  } else {
    memory.used_on = 0;
    say(kind == 8 ? "cuMemsetD8(" + memory.name + ", 2, 64)"
                  : "cuMemcpyDtoD(" + memory.name + ", " + any(have_.memory).name + "+4096, 64)");
  }
}

std::string Maker::node(std::uint32_t kind) {
  const std::string& to = any(have_.memory).name;
  if (kind < 2) return "cuMemsetD8Async(" + to + ", 3, 64";
  if (kind == 2) return "cuMemcpyDtoDAsync(" + to + ", " + any(have_.memory).name + "+4096, 64";
  const bool structure = kind == 4;
  const std::string function = have_.kernels.at(structure ? "fill_struct" : "fill");
  return "cuLaunchKernel(" + function +
         ", 1, 1, 1, 32, 1, 1, 0, kernelParams=" + (structure ? "[[" : "[") + to + ", 7, 8" +
         (structure ? "]]" : "]");
}

std::string Maker::capture(const std::string& stream, const std::vector<std::uint32_t>& kinds) {
  const std::string graph = fresh('g');
  kernel("fill");
  kernel("fill_struct");
  say("cuStreamBeginCapture(mode=2, hStream=" + stream + ")");
  for (const std::uint32_t kind : kinds) say(node(kind) + ", hStream=" + stream + ")");
  say(graph + " = cuStreamEndCapture(hStream=" + stream + ")");
  return graph;
}

void Maker::add_graph() {
  if (have_.streams.size() <= kDefaults || have_.memory.empty()) return;
  const std::string& stream =
      have_.streams[kDefaults +
                    random_.below(static_cast<std::uint32_t>(have_.streams.size() - kDefaults))];
  std::vector<std::uint32_t> kinds(1 + random_.below(2));
  for (std::uint32_t& kind : kinds) kind = random_.below(kNodeKinds);
  const std::string graph = capture(stream, kinds), executable = fresh('w');
  say(executable + " = cuGraphInstantiateWithFlags(" + graph + ")");
  have_.executables.push_back(executable);
  if (random_.chance(75)) return;
  const std::string other = capture(stream, kinds);
  if (random_.chance(50)) say("cuGraphLaunch(" + executable + on(any_stream()) + ")");
  say("cuGraphExecUpdate_v2(" + executable + ", " + other + ", [0, 0, 0])");
}

void Maker::launch() {
  if (have_.executables.empty()) return add_graph();
  const int stream = any_stream();
  for (Have::Memory& each : have_.memory) each.used_on = stream;
  say("cuGraphLaunch(" + any(have_.executables) + on(stream) + ")");
}

const std::string& Maker::event() {
  if (have_.events.empty() || random_.chance(20)) {
    have_.events.push_back(fresh('e'));
    say(have_.events.back() + " = cuEventCreate(Flags=2)");
  }
  return any(have_.events);
}

int Maker::pass_on(int stream) {
  const std::string by = event();
  const int other = any_stream();
  say("cuEventRecord(" + by + on(stream) + ")");
  say("cuStreamWaitEvent(hEvent=" + by + on(other) + ")");
  return other;
}

void Maker::order() {
  const std::uint32_t kind = random_.below(10);
  if (kind < 3) {
    pass_on(any_stream());
    return;
  }
  const std::string event = this->event();
  if (kind < 7) {
    say("cuEventRecord(" + event + on(any_stream()) + ")");
  } else if (kind < 9) {
    say("cuStreamWaitEvent(hEvent=" + event + on(any_stream()) + ")");
  } else {
    say("cuEventDestroy(" + event + ")");
    std::erase(have_.events, event);
  }
}

void Maker::wait_for(int stream) {
  const std::uint32_t kind = random_.below(10);
  const std::string of = only(on(stream));
  if (kind < 3) {
    say("cuStreamSynchronize(" + of + ")");
  } else if (kind < 5) {
    say("cuStreamQuery(" + of + ")");
  } else if (kind < 6) {
    say("cuCtxSynchronize()");
  } else if (kind < 9) {
    if (have_.events.empty()) {
      have_.events.push_back(fresh('e'));
      say(have_.events.back() + " = cuEventCreate()");
    }
    const std::string event = any(have_.events);
    if (random_.chance(80)) say("cuEventRecord(" + event + on(stream) + ")");
    say((random_.chance(70) ? "cuEventSynchronize(" : "cuEventQuery(") + event + ")");
  } else if (!have_.memory.empty()) {
    const std::string buffer = fresh('b');
    say(buffer + " = host(64)");
    say("cuMemcpyDtoH(" + buffer + ", " + any(have_.memory).name + ", 64)");
  }
}

std::string Maker::buffer() {
  const std::string name = fresh('b');
  say(name + (random_.chance(50) ? " = host(64)" : " = cuMemAllocHost(64)"));
  return name;
}

void Maker::tell(int stream) {
  if (have_.memory.empty()) return;
  Have::Memory& memory = any(have_.memory);
  const std::uint32_t kind = random_.below(10);
  memory.used_on = kind < 3 ? 0 : stream;
  if (kind < 1) return say("cuMemcpyDtoH(" + buffer() + ", " + memory.name + ", 64)");
  if (kind < 3) return say("cuMemcpyHtoD(" + memory.name + ", " + buffer() + ", 64)");
  if (kind < 5) {
    return say("cuMemcpyHtoDAsync(" + memory.name + ", " + buffer() + ", 64" + on(stream) + ")");
  }
  // A driver refuses words in memory of a pool.
  if (kind < 8 || memory.kind == 'p') {
    return say("cuMemcpyDtoHAsync(" + buffer() + ", " + memory.name + ", 64" + on(stream) + ")");
  }
  say("cuStreamWriteValue32(stream=" + have_.streams[static_cast<std::size_t>(stream)] +
      ", addr=" + memory.name + ", value=1, flags=0)");
}

void Maker::take() {
  if (!have_.memory.empty()) {
    take(random_.below(static_cast<std::uint32_t>(have_.memory.size())));
  }
}

void Maker::take(std::size_t which) {
  const Have::Memory memory = have_.memory[which];
  if (memory.used_on >= 0 && random_.chance(50)) {
    // A wait for another stream shows that the other stream waited for this one.
    wait_for(random_.chance(25) ? pass_on(memory.used_on) : memory.used_on);
  }
  if (memory.kind == 'm' && random_.chance(40)) {
    say("cuMemSetAccess(" + memory.name + ", 2M, [device0:" + (random_.chance(50) ? "r" : "none") +
        "])");
    if (random_.chance(50)) return say("cuMemSetAccess(" + memory.name + ", 2M, [device0:rw])");
  } else if (memory.kind == 'm') {
    say("cuMemUnmap(" + memory.name + ", 2M)");
    if (random_.chance(30)) say("cuMemAddressFree(" + memory.name + ", 2M)");
  } else if (memory.kind == 'p') {
    const int stream = memory.used_on >= 0 && random_.chance(50) ? memory.used_on : any_stream();
    say("cuMemFreeAsync(" + memory.name + on(stream) + ")");
  } else if (memory.kind == 'o') {
    say("cuIpcCloseMemHandle(" + memory.name + ")");
  } else if (memory.kind == 'b') {
    say("cuDestroyExternalMemory(" + memory.object + ")");
  } else {
    say("cuMemFree(" + memory.name + ")");
  }
  have_.empty_ranges.push_back(memory.name);
  have_.memory.erase(have_.memory.begin() + static_cast<std::ptrdiff_t>(which));
}

void Maker::release_name() {
  if (have_.streams.size() > kDefaults && random_.chance(50)) {
    say("cuStreamDestroy(hStream=" + have_.streams.back() + ")");
    const int ended = static_cast<int>(have_.streams.size()) - 1;
    for (Have::Memory& each : have_.memory) {
      if (each.used_on == ended) each.used_on = -1;
    }
    have_.streams.pop_back();
  } else if (!have_.executables.empty()) {
    say("cuGraphExecDestroy(" + have_.executables.back() + ")");
    have_.executables.pop_back();
  }
}

void Maker::next() {
  actor_ = have_.threads > 1 && random_.chance(30) ? "@t1 " : "";
  const std::uint32_t kind = random_.below(100);
  if (kind < 34) return touch();
  if (kind < 42) return launch();
  if (kind < 62) return order();
  if (kind < 70) return wait_for(any_stream());
  if (kind < 76) return tell(any_stream());
  if (kind < 88) {
    take();
    // The memory that a graph uses may be freed by now.
    if (!have_.executables.empty() && random_.chance(50)) launch();
    return;
  }
  if (kind < 91) return release_name();
  if (kind < 94) return add_stream();
  if (kind < 96) return reserve();
  if (kinds_ & 2) return add_pool_memory();
  if (kinds_ & 1) map();
}

std::string Maker::program() {
  begin();
  const unsigned steps = 2 + random_.below(24);
  for (unsigned i = 0; i < steps; ++i) next();
  actor_.clear();
  while (!have_.memory.empty()) take(0);
  return text_;
}

/// The name "r1" of "@t1 r1 = cuMemAlloc(2M)"; empty where the line binds none.
std::string bound_by(const std::string& line) {
  const std::size_t equals = line.find(" = "), bracket = line.find('(');
  if (equals == std::string::npos || equals > bracket) return {};
  const std::size_t space = line.rfind(' ', equals - 1);
  const std::size_t from = space == std::string::npos ? 0 : space + 1;
  return line.substr(from, equals - from);
}

bool names(const std::string& line, const std::string& name) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || !is_part(line[at - 1]);
    if (starts && (end == line.size() || !is_part(line[end]))) return true;
  }
  return false;
}

}  // namespace

std::string make_program(Random& random, int processes) {
  return Maker(random, processes).program();
}

std::string without_line(const std::string& text, std::size_t line) {
  std::istringstream lines(text);
  std::string out, name;
  std::size_t number = 0;
  for (std::string each; std::getline(lines, each); ++number) {
    if (number == line) {
      name = bound_by(each);
      continue;
    }
    if (number > line && !name.empty() && names(each, name)) continue;
    out += each + "\n";
  }
  return out;
}

}  // namespace cuvmm::fuzz::flight
