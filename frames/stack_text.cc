// SPDX-License-Identifier: Apache-2.0
#include "frames/stack_text.h"

#include <algorithm>
#include <span>
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

// Python's own runpy module, by which `python -m` starts a program.
bool of_runpy(const Frame& frame) {
  return frame.python() && (frame.file == "<frozen runpy>" || frame.file.ends_with("/runpy.py"));
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
  return nullptr;
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
  const std::size_t depth = depth_to_show(frames);
  std::string text;
  std::size_t lines = 0, i = 0;
  const auto line = [&](std::size_t number, const std::string& what) {
    text += indent + ("#" + std::to_string(number)) + " " + what + "\n";
    ++lines;
  };
  while (i < depth && lines < kLinesShown) {
    std::size_t end = i;
    bool python = false;
    while (end < depth && (frames[end].python() || of_interpreter(frames[end]))) {
      if (frames[end++].python()) python = true;
    }
    if (python) {
      // The program's Python functions replace the interpreter's frames.
      for (; i < end && lines < kLinesShown; ++i) {
        if (frames[i].python() && !of_runpy(frames[i])) line(i, frame_text(frames[i]));
      }
      continue;
    }
    const char* const whose = folded_as(frames[i]);
    end = i;
    while (whose && end < depth && folded_as(frames[end]) == whose) ++end;
    if (end - i > 1) {
      line(i, std::to_string(end - i) + " frames of " + whose);
      i = end;
    } else {
      line(i, frame_text(frames[i]));
      ++i;
    }
  }
  const auto shown = [](const Frame& frame) { return !of_interpreter(frame) && !of_runpy(frame); };
  const auto rest = std::span(frames).first(depth).subspan(i);
  const bool more_python = std::ranges::any_of(rest, &Frame::python);
  const auto more =
      more_python ? static_cast<std::size_t>(std::ranges::count_if(rest, shown)) : rest.size();
  if (more != 0) {
    text += indent + std::to_string(more) + " more frame" + (more == 1 ? "" : "s") + "\n";
  }
  return text;
}

}  // namespace cuvmm::frames
