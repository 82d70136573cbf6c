// SPDX-License-Identifier: Apache-2.0
#include "frames/stack_text.h"

#include <algorithm>
#include <string_view>

#include "api/words.h"
#include "frames/cxx_names.h"
#include "frames/interleave.h"

namespace cuvmm::frames {

namespace {

constexpr std::size_t kLinesShown = 16;  // the JSON report has all frames

// Whether the frame is one of a thread's first frames. They belong to the C library, like the
// frames below main.
bool starts_thread(const Frame& frame) {
  constexpr std::string_view kLibraries[] = {"libc.so", "libc-", "libpthread"};
  constexpr std::string_view kStarts[] = {"start_thread", "clone", "clone3", "__clone3"};
  return std::ranges::find(kStarts, frame.function) != std::end(kStarts) &&
         std::ranges::any_of(kLibraries, [&](std::string_view library) {
           return file_name(frame.module).starts_with(library);
         });
}

// Python's own code that runs or imports modules: it stands between any two modules of a program.
bool runs_modules(const Frame& frame) {
  constexpr std::string_view kFrozen[] = {"<frozen runpy>", "<frozen importlib._bootstrap>",
                                          "<frozen importlib._bootstrap_external>"};
  constexpr std::string_view kFiles[] = {"/runpy.py", "/importlib/__init__.py",
                                         "/importlib/_bootstrap.py",
                                         "/importlib/_bootstrap_external.py"};
  return frame.python() && (std::ranges::find(kFrozen, frame.file) != std::end(kFrozen) ||
                            std::ranges::any_of(kFiles, [&](std::string_view file) {
                              return frame.file.ends_with(file);
                            }));
}

// The code of pytest, of its plugin xdist and of cuvmm's plugin.
bool of_pytest(const Frame& frame) {
  constexpr std::string_view kFolders[] = {"/_pytest/", "/pytest/__main__.py",
                                           "/pluggy/",  "/xdist/",
                                           "/execnet/", "/cuvmm/pytest_plugin.py"};
  return frame.python() && std::ranges::any_of(kFolders, [&](std::string_view folder) {
           return frame.file.find(folder) != std::string::npos;
         });
}

// The frames below main belong to the C library and are not shown. Interpreters may have no symbol
// for main.
std::size_t depth_to_show(const std::vector<Frame>& frames) {
  const auto end = std::ranges::find_if(frames, [](const Frame& frame) {
    if (frame.python()) return false;
    return frame.function == "main" || frame.function == "_start" ||
           frame.function.starts_with("__libc_start_") || starts_thread(frame);
  });
  const bool main = end != frames.end() && end->function == "main";
  const auto depth = static_cast<std::size_t>(end - frames.begin());
  if (main) return depth + 1;
  // A C library without symbols has no name for __libc_start_call_main.
  const bool nameless = end != frames.end() && depth > 0 && frames[depth - 1].function.empty() &&
                        frames[depth - 1].module == end->module &&
                        end->function.starts_with("__libc_start_");
  return nameless ? depth - 1 : depth;
}

// A name for frames that tell the user nothing about the program. Neighbours with the same name are
// shown as one line. Null for all other frames.
const char* folded_as(const Frame& frame) {
  if (of_interpreter(frame)) return "the Python interpreter";
  if (file_name(frame.module).starts_with("libcudart")) return "the CUDA runtime";
  if (of_pytest(frame)) return "pytest";
  return nullptr;
}

// The frames that one line of a stack stands for.
struct Line {
  std::size_t first = 0;  // index of the innermost one
  std::size_t count = 1;
  const char* whose = nullptr;  // the common name of several frames
};

std::vector<Line> lines_of(const std::vector<Frame>& frames, std::size_t depth) {
  std::vector<Line> lines;
  for (std::size_t begin = 0, end = 0; begin < depth; begin = end) {
    bool python = false;
    while (end < depth && (frames[end].python() || of_interpreter(frames[end]))) {
      if (frames[end++].python()) python = true;
    }
    if (end == begin) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      // The program's Python functions replace the interpreter's frames.
      if (runs_modules(frames[i]) || (python && of_interpreter(frames[i]))) continue;
      const char* const whose = folded_as(frames[i]);
      if (whose && !lines.empty() && lines.back().whose == whose) {
        ++lines.back().count;
      } else {
        lines.push_back({i, 1, whose});
      }
    }
  }
  return lines;
}

}  // namespace

std::string frame_text(const Frame& frame) {
  std::string text = frame.function.empty() ? "?" : shortened(frame.function);
  if (!frame.file.empty()) text += " at " + frame.file + ":" + std::to_string(frame.line);
  if (frame.python()) return text + " (Python)";
  if (!frame.module.empty()) {
    text += " (" + std::string(file_name(frame.module)) + "+" + hex_text(frame.offset) + ")";
  }
  return text;
}

std::string place_text(const std::vector<Frame>& frames) {
  if (frames.empty()) return {};
  const bool python = std::ranges::any_of(frames, &Frame::python);
  const auto best = std::ranges::find_if(frames, [&](const Frame& frame) {
    return !python || (!of_interpreter(frame) && !hands_on_from_python(frame.module));
  });
  return frame_text(best == frames.end() ? frames.front() : *best);
}

std::string stack_text(const std::vector<Frame>& frames, const char* indent) {
  const std::vector<Line> lines = lines_of(frames, depth_to_show(frames));
  std::string text;
  std::size_t more = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    if (i >= kLinesShown) {
      more += line.count;
      continue;
    }
    const Frame& frame = frames[line.first];
    text += indent + ("#" + std::to_string(line.first)) + " ";
    text += line.count > 1 ? std::to_string(line.count) + " frames of " + line.whose
                           : frame_text(frame);
    text += "\n";
    if (!frame.source.empty()) text += std::string(indent) + "     " + frame.source + "\n";
  }
  if (more != 0) {
    text += indent + std::to_string(more) + " more frame" + (more == 1 ? "" : "s") + "\n";
  }
  return text;
}

}  // namespace cuvmm::frames
