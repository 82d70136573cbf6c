// SPDX-License-Identifier: Apache-2.0
// Walks of a thread that has walked before: its knowledge of code objects never outlives them.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "shim/stack/python/python_stack.h"
#include "shim/stack/python/walk_world.h"

namespace cuvmm::shim {
namespace {

// The layout of 3.12, of 3.13 and later (where a version is unique only in its interpreter), or of
// 3.11.
PythonLayout layout_of(std::uint32_t minor) {
  PythonLayout layout = *python_layout(minor == 11 ? 0x030b07f0 : 0x030c01f0, {});
  if (minor == 13) layout.code.version_of_process = false;
  return layout;
}

class KnownWalks : public testing::TestWithParam<std::uint32_t> {
 protected:
  struct Memory {
    GuardedMemory pages;
    KnownCodes codes;
  };

  KnownWalks() : world(layout_of(GetParam())), memory(std::make_unique<Memory>()) {
    *memory = {};
    code = world.code("f", "a.py", 1);
    world.call(code);
  }
  std::uint64_t key() {
    EXPECT_EQ(world.walk.read(world.python, memory->pages, &memory->codes, world.thread),
              PythonWalk::End::kWhole);
    return world.walk.places[0].key;
  }
  // The key that a walk without any knowledge computes.
  std::uint64_t fresh_key() {
    EXPECT_EQ(world.read(), PythonWalk::End::kWhole);
    return world.walk.places[0].key;
  }
  bool uses_versions() const { return layout.version != PythonLayout::kNowhere; }
  // Overwrites the name in place.
  void rename(char letter) {
    const auto name = world.get<std::uintptr_t>(code, layout.name);
    world.put(name, world.python.layout.ascii_size, letter);
    world.put(name, PythonLayout::kStringHash, std::hash<std::string>()(std::string(1, letter)));
  }
  void put_version(std::uint32_t version) {
    if (uses_versions()) world.put(code, layout.version, version);
  }

  World world;
  std::unique_ptr<Memory> memory;
  std::uintptr_t code = 0;
  const decltype(PythonLayout::code)& layout = world.python.layout.code;
};
INSTANTIATE_TEST_SUITE_P(Versions, KnownWalks, testing::Values(11u, 12u, 13u));

TEST_P(KnownWalks, TheSecondWalkFindsWhatTheFirstOneFound) {
  world.call(world.code("g", "b.py", 2));
  world.call(code);
  const std::uint64_t first = key();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(key(), first);
  EXPECT_EQ(fresh_key(), first);
  EXPECT_EQ(world.walk.count, 3u);
}

// A walk is short because it does not read these characters again; the other tests here rely on it.
TEST_P(KnownWalks, CharactersOfTheNamesAreNotReadAgain) {
  const std::uint64_t first = key();
  const auto name = world.get<std::uintptr_t>(code, layout.name);
  world.put(name, world.python.layout.ascii_size, 'x');  // the hash stays
  EXPECT_EQ(key() == first, uses_versions());
  EXPECT_NE(fresh_key(), first);
}

// The code object was dropped and another one made at its addresses, names included.
TEST_P(KnownWalks, AnotherCodeObjectAtTheSameAddressIsAnotherOne) {
  const std::uint64_t first = key();
  rename('x');
  put_version(100);
  EXPECT_NE(key(), first);
  EXPECT_EQ(world.walk.places[0].key, fresh_key());
  EXPECT_EQ(world.named(0), "x a.py:1");
}

// From 3.13 on each interpreter counts versions for itself, and a restarted interpreter begins
// anew.
TEST_P(KnownWalks, AnotherInterpretersCodeObjectWithTheSameVersion) {
  if (layout.version_of_process) GTEST_SKIP() << "no two have one version";
  const std::uint64_t first = key();
  rename('x');
  EXPECT_NE(key(), first);
  EXPECT_EQ(world.walk.places[0].key, fresh_key());
}

TEST_P(KnownWalks, AnotherNameOrFileOrLineIsSeenWhateverTheVersion) {
  std::uint64_t before = key();
  const auto changed = [&] {
    const std::uint64_t now = key();
    const bool other = now != before;
    before = now;
    return other && now == fresh_key();
  };
  world.put(code, layout.name, world.string("g"));
  EXPECT_TRUE(changed());
  world.put(code, layout.filename, world.string("b.py"));
  EXPECT_TRUE(changed());
  world.put(code, layout.first_line, 9);
  EXPECT_TRUE(changed());
  world.put(code, layout.lines, world.block());
  EXPECT_TRUE(changed());
}

// GuardedMemory has not asked for the memory at another name's address yet.
TEST_P(KnownWalks, ANameThatCannotBeReadIsOdd) {
  key();
  for (const std::uintptr_t wrong : {std::uintptr_t{0}, std::uintptr_t{0x10}, world.block()}) {
    world.put(code, layout.name, wrong);
    EXPECT_EQ(world.walk.read(world.python, memory->pages, &memory->codes, world.thread),
              PythonWalk::End::kOdd);
  }
}

TEST_P(KnownWalks, ALineThatChangesWithinAFrame) {
  if (layout.bytecode == PythonLayout::kNowhere) GTEST_SKIP();
  const std::uint64_t first = key();
  const std::size_t at = world.python.layout.frame.instruction;
  world.put(world.innermost, at, code + layout.bytecode + 8);
  EXPECT_NE(key(), first);
  EXPECT_EQ(world.walk.places[0].instruction, 8);
  world.put(world.innermost, at, code + layout.bytecode + 4);
  EXPECT_EQ(key(), first);
  world.put(world.innermost, at, code + layout.bytecode + 16);  // behind its 8 units
  EXPECT_EQ(world.walk.read(world.python, memory->pages, &memory->codes, world.thread),
            PythonWalk::End::kOdd);
}

TEST_P(KnownWalks, WithoutAVersionOrAHashNothingIsKnown) {
  put_version(0);  // the counter has overflown
  std::uint64_t first = key();
  rename('x');
  EXPECT_NE(key(), first);
  if (layout.version_of_process) return;
  put_version(7);
  const auto name = world.get<std::uintptr_t>(code, layout.name);
  world.put(name, PythonLayout::kStringHash, std::int64_t{-1});
  first = key();
  world.put(name, world.python.layout.ascii_size, 'y');
  EXPECT_NE(key(), first);
}

void* g_thread = nullptr;

// When the walk forgets the pages, it forgets the facts that it read there.
TEST_P(KnownWalks, IsForgottenFromTimeToTime) {
  g_thread = reinterpret_cast<void*>(world.thread);
  world.python.thread_state = [] { return g_thread; };
  const auto taken = [&] {
    PythonStack stack(memory->pages, &memory->codes);
    EXPECT_TRUE(stack.take(world.python));
    return stack.key;
  };
  const std::uint64_t first = taken();
  EXPECT_EQ(taken(), first);
  const auto name = world.get<std::uintptr_t>(code, layout.name);
  world.put(name, world.python.layout.ascii_size, 'x');
  bool other = false;
  for (int i = 0; i < 1024 && !other; ++i) other = taken() != first;
  EXPECT_TRUE(other);
}

}  // namespace
}  // namespace cuvmm::shim
