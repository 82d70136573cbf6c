# SPDX-License-Identifier: Apache-2.0
"""`%load_ext cuvmm` in a Jupyter kernel, as nbclient runs it.

Usage: notebook_test.py CUVMM [unittest arguments]. Exit code 77 where this Python has no nbclient or ipykernel.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CUVMM = ""

# Runs the cells that stdin has, and prints the streams of each cell. A cell that raises ends it.
RUNNER = """
import json, sys
import nbformat, nbclient
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in json.load(sys.stdin)])
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
print(json.dumps([{one.name: one.text for one in cell.outputs} for cell in book.cells]))
"""
START = "import driver; driver.start(); M = 2 << 20; h = driver.create(M)"
MISUSE = """def careless(base):
    driver.unmap(base, M)
base = driver.reserve(M)
try: careless(base)
except driver.CudaError: pass
driver.free_address(base, M)"""


class Notebook(unittest.TestCase):
    def run_cells(self, *cells, under=True):
        with tempfile.TemporaryDirectory(prefix="cuvmm-notebook-") as folder:
            environment = {name: value for name, value in os.environ.items() if not name.startswith(("CUVMM_", "JUPYTER"))}
            environment |= {"PYTHONPATH": f"{SOURCE / 'python'}:{SOURCE / 'examples' / 'pytest_allocator'}",
                            "PYTHONDONTWRITEBYTECODE": "1", "HOME": folder, "IPYTHONDIR": folder,
                            "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
            command = [CUVMM, "run", "--emulate", "--"] if under else []
            done = subprocess.run([*command, sys.executable, "-c", RUNNER], input=json.dumps(cells), text=True,
                                  capture_output=True, env=environment, cwd=folder, timeout=500, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def test_the_findings_of_a_cell_stand_below_it(self):
        cells, errors = self.run_cells("%load_ext cuvmm", START, MISUSE, "%cuvmm", "driver.release(h)",
                                       "g = driver.create(M)", "%cuvmm leaks")
        self.assertEqual([cell for i, cell in enumerate(cells) if i not in (2, 3, 6)], [{}] * 4)
        text = cells[2]["stderr"]
        self.assertEqual(text.count("[cuMemUnmap-mapped]"), 1, text)
        self.assertRegex(text, r"#\d+ careless at cell \[3\], line 2\n +driver.unmap\(base, M\)\n"
                               r" +#\d+ <module> at cell \[3\], line 4\n +try: careless\(base\)\n")
        self.assertIn("in: cell [3]", text)
        for machinery in ("/IPython/", "/ipykernel/", "asyncio", "more frame"):
            self.assertNotIn(machinery, text)
        self.assertIn("the emulator", cells[3]["stdout"])
        # The memory that cell 2 made and cell 5 released is no leak; that of cell 6 is.
        self.assertIn("1 leak", cells[6]["stdout"])
        self.assertIn("cell [6], line 1", cells[6]["stderr"])
        self.assertRegex(errors, r"cuvmm: [1-9]\d* errors?, 0 undefined, 1 leak in ")

    def test_a_kernel_that_is_not_under_cuvmm_says_so(self):
        cells, _ = self.run_cells("%load_ext cuvmm", "print(6 * 7)", under=False)
        self.assertIn("cuvmm run --emulate --python -- jupyter lab", cells[0]["stderr"])
        self.assertEqual(cells[1], {"stdout": "42\n"})


if __name__ == "__main__":
    if not all(map(importlib.util.find_spec, ("nbclient", "ipykernel"))):
        print("skipped: nbclient or ipykernel is not installed (emulator/python/requirements.txt)")
        sys.exit(77)
    CUVMM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
