# SPDX-License-Identifier: Apache-2.0
"""Tests that includes point down and form no circle, that no folder has too many files, and that each source names its licence.

Usage: includes_test.py SOURCE_FOLDER [unittest arguments].
"""
import collections
import os
import re
import subprocess
import sys
import unittest

SOURCE = None
MOST_FILES = 25
# Folder -> the other folders that it may include.
BELOW = {
    "api": set(),
    "program": {"api"},
    "rulebook": {"api"},
    "kernels": {"api"},
    "emulator": {"api", "kernels", "rulebook"},
    "injected_failures": {"api"},
    "include": set(),  # for programs of users
    "frames": {"api"},
    "recorder": {"api", "frames", "rulebook"},
    "shim": {"api", "injected_failures", "frames", "include", "recorder", "rulebook"},
    "conformance": {"api", "program", "rulebook"},
    "tools": {"api", "injected_failures", "frames", "program", "recorder", "rulebook", "conformance"},
    "fuzz": {"api", "program", "rulebook", "shim", "emulator", "tools"},
    "bench": {"api"},
    "examples": {"api", "include"},  # only for their stand-in for libcuda
    "real-driver-tests": {"examples"},
}


def sources():
    """Paths of the repository's C and C++ files, without files that are built or fetched."""
    for folder in sorted(BELOW):
        for where, names, files in os.walk(os.path.join(SOURCE, folder)):
            names.sort()
            for name in sorted(files):
                if name.endswith((".h", ".cc", ".def", ".c", ".cpp")):
                    yield os.path.relpath(os.path.join(where, name), SOURCE)


def files():
    """Paths of all files of the repository, data and documents too: tracked, or new and not ignored."""
    git = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=SOURCE,
                         capture_output=True, text=True, check=False)
    if git.returncode == 0:
        return [path for path in git.stdout.split("\0") if os.path.isfile(os.path.join(SOURCE, path))]
    found = []  # an unpacked archive
    for where, names, here in os.walk(SOURCE):
        names[:] = [name for name in names if name not in ("build", ".git", ".deps", "__pycache__")]
        found += [os.path.relpath(os.path.join(where, name), SOURCE) for name in here]
    return found


def includes():
    """file -> files of the repository that it includes."""
    known = set(sources())
    found = {}
    for path in known:
        with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
            found[path] = [name for name in re.findall(r'^\s*#\s*include "([^"]+)"', file.read(), re.M) if name in known]
    return found


def order_of_folders():
    """layer -> its folders from the bottom up, from the list in docs/architecture.md. `.` stands for the layer's own files."""
    with open(os.path.join(SOURCE, "docs/architecture.md"), encoding="utf-8") as file:
        part = file.read().split("\n## The order of folders\n")[1].split("\n## ")[0]
    return {layer: re.findall(r"`([^`]+?)/?`", folders)
            for layer, folders in re.findall(r"^\| `([^`]+)/` \| (.*) \|$", part, re.M)}


def folder_of(path):
    """The folder below the layer that holds the file; `.` if the file is in the layer's own folder."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else "."


def is_test(path):
    return "test" in os.path.basename(path) or "/testing" in path or "/testdata" in path


def circles(graph):
    """The strongly connected components with more than one node (Tarjan's algorithm)."""
    order, low, stack, out = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                out.append(tuple(sorted(part)))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return out


class Includes(unittest.TestCase):
    def test_point_down(self):
        wrong = []
        for path, others in includes().items():
            folder = path.split("/")[0]
            allowed = {folder} | BELOW[folder]
            wrong += [f"{path} includes {other}" for other in others if other.split("/")[0] not in allowed]
        self.assertEqual(wrong, [], "CONTRIBUTING.md says which folder may include which")

    def test_no_circle(self):
        # A unit is a header together with its .cc file.
        graph = collections.defaultdict(set)
        for path, others in includes().items():
            if is_test(path):
                continue
            unit = os.path.splitext(path)[0]
            graph[unit] |= {os.path.splitext(other)[0] for other in others} - {unit}
        for unit in [other for others in list(graph.values()) for other in others]:
            graph[unit]  # every node is a key
        self.assertEqual(circles(graph), [], "these units include each other in a circle")

    def test_kernels_have_one_interface(self):
        # Code outside may include only kernels/kernels.h, because builds without kernels have kernels/absent.cc behind it.
        outside = [(path, other) for path, others in includes().items() for other in others
                   if other.startswith("kernels/") and not path.startswith("kernels/") and not is_test(path)]
        self.assertTrue(outside)
        self.assertEqual([pair for pair in outside if pair[1] != "kernels/kernels.h"], [])

    def test_folders_have_an_order(self):
        order = order_of_folders()
        inside = [(path, other) for path, others in includes().items() for other in others
                  if path.split("/")[0] == other.split("/")[0] in order and not is_test(path) and not is_test(other)]
        folders_of = collections.defaultdict(set)
        for path in sources():
            if not is_test(path):
                folders_of[path.split("/")[0]].add(folder_of(path))
        # include/ and examples' kind have one folder of headers; programs for GPUs stand alone.
        without = {layer for layer, folders in folders_of.items() if len(folders) > 1} - set(order) - {"real-driver-tests"}
        self.assertEqual(without, set(), "docs/architecture.md has no row for these")
        for layer, folders in order.items():
            used = {folder_of(path) for pair in inside for path in pair if path.startswith(layer + "/")}
            self.assertEqual(used - set(folders), set(), f"docs/architecture.md gives these folders of {layer}/ no place")
        wrong = []
        for path, other in inside:
            place = order[path.split("/")[0]].index
            if place(folder_of(path)) < place(folder_of(other)):
                wrong.append(f"{path} includes {other}")
        self.assertEqual(sorted(wrong), [], "these includes run up: docs/architecture.md has the order of folders")

    def test_the_page_explains_each_folder(self):
        with open(os.path.join(SOURCE, "docs/architecture.md"), encoding="utf-8") as file:
            part = file.read().split("\nInside a layer, ")[1].split("\n## ")[0]
        rows = dict(re.findall(r"^\| `([^`]+)/` \| (.*) \|$", part, re.M))
        self.assertGreater(len(rows), 5)
        for layer, text in rows.items():
            order = [name for name in order_of_folders()[layer] if name != "."]
            named = [name for name in re.findall(r"`([a-z_0-9]+)/`", text) if name in order or name not in BELOW]
            with self.subTest(layer=layer):
                self.assertEqual(named, order, "one row explains the folders, another one gives their order")

    def test_no_circle_of_folders(self):
        graph = collections.defaultdict(set)
        for path, others in includes().items():
            for other in others:
                if is_test(path) or is_test(other) or path.split("/")[0] not in order_of_folders():
                    continue
                one, two = path.split("/"), other.split("/")
                at = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), 0)
                # Compares only neighbouring folders, because a file beside a folder may include it and be included by it.
                if len(one) > at + 1 and len(two) > at + 1:
                    graph["/".join(one[:at + 1])].add("/".join(two[:at + 1]))
        for folder in [other for others in list(graph.values()) for other in others]:
            graph[folder]  # every node is a key
        self.assertEqual(circles(graph), [], "these folders include each other in a circle")

    def test_a_unit_includes_its_own_header_first(self):
        # A source includes its own header first, which proves that the header includes all that it uses. `./dev lint`
        # compiles the other headers alone.
        wrong = []
        for path, others in includes().items():
            header = os.path.splitext(path)[0] + ".h"
            if path.endswith(".cc") and os.path.exists(os.path.join(SOURCE, header)):
                with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                    first = re.search(r'^\s*#\s*include\s+["<]([^">]+)', file.read(), re.M)
                if not first or first.group(1) != header:
                    wrong.append(path)
        self.assertEqual(wrong, [])

    def test_each_names_its_licence(self):
        wrong = []
        for path in sources():
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                if "SPDX-License-Identifier: Apache-2.0" not in file.readline():
                    wrong.append(path)
        self.assertEqual(wrong, [], "the first line is `// SPDX-License-Identifier: Apache-2.0`")

    def test_folders_are_small(self):
        count = collections.Counter(os.path.dirname(path) for path in files())
        self.assertGreater(len(count), len(BELOW))
        self.assertEqual({folder: n for folder, n in count.items() if n > MOST_FILES}, {}, "split it by area or stage")


if __name__ == "__main__":
    SOURCE = sys.argv.pop(1)
    sys.setrecursionlimit(10000)
    unittest.main()
