// The corpus, and programs that once disagreed: replayed bare and under the shim.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/generator.h"
#include "fuzz/machines.h"
#include "tools/c_source.h"

#ifdef __clang__
// The leak check at exit of clang 14 dies on a library with thread-locals that was opened late.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace cuvmm::fuzz {
namespace {

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(CUVMM_CORPUS)) {
    if (entry.path().extension() == ".cuvmm") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

TEST(Corpus, AgreesBareAndUnderTheShim) {
  const auto files = corpus();
  EXPECT_GE(files.size(), 20u);
  for (const auto& path : files) EXPECT_EQ(disagreement(read(path)), "") << path;
}

TEST(Corpus, AnswersAsItSays) {
  for (const auto& path : corpus()) {
    const std::string text = read(path);
    const Ops ops = from_text(text).ops;
    EXPECT_EQ(to_text(ops, notes_of(emulated().run(ops))), text) << path;
  }
}

TEST(Corpus, BreaksEveryRuleThatCanBePlanted) {
  Statistics statistics;
  for (const auto& path : corpus()) {
    const TextOps program = from_text(read(path));
    EXPECT_EQ(program.error, "") << path;
    statistics.add(emulated().run(program.ops));
  }
  for (const Rule rule : plantable()) {
    EXPECT_NE(statistics.by_rule[static_cast<std::size_t>(rule)], 0u) << info(rule).id;
  }
}

// Each has a C form that compiles is docs/fuzzing.md's promise; the writer's own tests compile C.
TEST(Corpus, EachProgramOfOneThreadHasAFormInC) {
  for (const auto& path : corpus()) {
    const std::string text = read(path);
    if (text.find("@t") != std::string::npos) continue;
    EXPECT_EQ(write_c(parse_program(text).program, path.string()).error, "") << path;
  }
}

}  // namespace
}  // namespace cuvmm::fuzz
