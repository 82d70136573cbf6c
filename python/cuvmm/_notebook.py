# SPDX-License-Identifier: Apache-2.0
"""IPython and Jupyter: `%load_ext cuvmm` shows the findings of each cell below the cell.

docs/testing/notebooks.md says how a kernel comes under cuvmm.
"""

from __future__ import annotations

import linecache
import re
import sys
from contextlib import ExitStack
from typing import Any

import cuvmm
from cuvmm._findings import Finding

_NOT_HERE = """cuvmm: this process does not run under cuvmm, so no cell is checked. Start Jupyter under it:
    cuvmm run --emulate --python -- jupyter lab    (without --emulate --python: on this machine's driver)"""
_FRAME = re.compile(r"(?P<indent> +)#\d+ .* at (?P<file>.*):(?P<line>\d+) \(Python\)$")
_ANY_FRAME = re.compile(r" +#\d+ | +\d+ more frames?$")


class Cells:
    """Watches the cells of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.open = ExitStack()  # the scope of the cell that runs
        self.start = self.mark = cuvmm.mark()
        self.number = shell.execution_count
        self.ahead = 0  # some versions of IPython count a cell before they tell of it, others after it

    def begin(self, _info: Any = None) -> None:
        self.open.close()
        self.mark = cuvmm.mark()
        self.number = self.shell.execution_count
        # Quiet, because end() prints the findings, and Jupyter shows the process's stderr as well.
        self.open.enter_context(cuvmm.scope(f"cell [{self.number - self.ahead}]", quiet=True))

    def end(self, result: Any = None) -> None:
        self.open.close()
        number = getattr(result, "execution_count", None)
        if number is not None:
            self.ahead = self.number - number
        self.show([one for one in cuvmm.findings(self.mark) if one.counts and one.kind != "leak"])

    def show(self, found: list[Finding]) -> None:
        for one in found:
            times = f"{one.count} times: " if one.count > 1 else ""
            print(times + self.text_of(one), file=sys.stderr)

    def text_of(self, finding: Finding) -> str:
        """The text with cells' names for their files, without the frames of IPython below a cell."""
        lines: list[str] = []
        of_cell = False  # whether the last frame was a cell's: the other frames of this stack are IPython's
        for line in finding.text.rstrip("\n").split("\n"):
            frame = _FRAME.match(line)
            cell = self.cell_of(frame["file"]) if frame else ""
            if frame and cell:
                lines.append(line.replace(f"{frame['file']}:", f"{cell}, line ").replace(" (Python)", ""))
                source = linecache.getline(frame["file"], int(frame["line"])).strip()
                if source:
                    lines.append(f"{frame['indent']}     {source}")
                of_cell = True
            elif not (of_cell and _ANY_FRAME.match(line)):
                lines.append(line)
                of_cell = False
        return "\n".join(lines)

    def cell_of(self, file: str) -> str:
        """"cell [3]" for the file that IPython names as the source of the third cell; "" for other files."""
        number = getattr(self.shell.compile, "_filename_map", {}).get(file)
        if number is not None:
            return f"cell [{number}]"
        return "a cell" if file.startswith("<ipython-input-") or "/ipykernel_" in file else ""

    def magic(self, line: str) -> None:
        """%cuvmm: says what the cells run on. %cuvmm leaks: shows memory that the cells gave up and never released."""
        if line.strip() == "leaks":
            with cuvmm.scope("%cuvmm leaks", quiet=True):
                found = cuvmm.leaks(self.start)
            self.show(found)
            print(f"cuvmm: {len(found) or 'no'} leak{'' if len(found) == 1 else 's'}")
        elif line.strip():
            raise ValueError("expected %cuvmm, or %cuvmm leaks")
        else:
            info = cuvmm.info()
            print("cuvmm: not active" if info is None else f"cuvmm: {'the emulator' if info.emulated else info.driver}")


_watching: dict[int, Cells] = {}  # by the id of the shell


def load(shell: Any) -> None:
    if not cuvmm.active():
        print(_NOT_HERE, file=sys.stderr)
        return
    if id(shell) in _watching:
        return
    cells = _watching[id(shell)] = Cells(shell)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)
    shell.register_magic_function(cells.magic, "line", "cuvmm")


def unload(shell: Any) -> None:
    cells = _watching.pop(id(shell), None)
    if cells is None:
        return
    cells.open.close()
    shell.events.unregister("pre_run_cell", cells.begin)
    shell.events.unregister("post_run_cell", cells.end)
