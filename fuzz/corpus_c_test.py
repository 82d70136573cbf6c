#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns every program in the folder CORPUS into C, compiles it, and runs it on the emulator: each call has
to answer what the program's comments say, and what a replay of the text answers.

usage: corpus_c_test.py CUVMM EMULATOR CORPUS COMPILER   (CUDA_INCLUDE: the folder of cuda.h)
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

THREADED = re.compile(r"^@[tp]", re.MULTILINE)
EXPECTED = re.compile(r"#\s*CUDA_")


def fail(message):
    print(f"corpus_c_test: {message}", file=sys.stderr)
    sys.exit(1)


def helpers_and_main(text):
    """A written C file is: what every file begins with, helpers (each ends with a lone brace), main."""
    head, rest = text.split("static int different;\n", 1)
    helpers, main = rest.split("\nint main(void) {\n", 1)
    blocks = re.findall(r"\n?(?:/\*.*?\*/\n)?static .*?\n}\n", helpers, re.DOTALL)
    if "".join(blocks).replace("\n", "") != helpers.replace("\n", ""):
        fail("the helpers of a C file cannot be told apart")
    return head[head.index("#define") :], blocks, main


def one_file(sources):
    """All programs as functions of one file: cuda.h is read once."""
    head, helpers, functions = "", [], []
    for name, text in sources:
        head, blocks, main = helpers_and_main(text)
        helpers += [block for block in blocks if block not in helpers]
        functions.append(f"\nstatic int program_{name}(void) {{\n{main}")
    # A helper comes after the helpers that it calls.
    order = {re.search(r"static [\w* ]*?(\w+)\(", block).group(1): block for block in helpers}
    helpers.sort(key=lambda block: sum(f"{n}(" in block for n in order))
    cases = "".join(f'  if (!strcmp(argv[1], "{n}")) return program_{n}();\n' for n, _ in sources)
    return (
        f"{head}static int different;\n{''.join(helpers)}{''.join(functions)}"
        f"int main(int argc, char** argv) {{\n  if (argc != 2) return 2;\n{cases}  return 2;\n}}\n"
    )


def answers(output):
    """The codes in their order; addresses and handles differ from run to run."""
    return re.findall(r"CUDA_[A-Z_]+", output)


def main():
    cuvmm, emulator, corpus, compiler = sys.argv[1:5]
    environment = dict(os.environ, CUVMM_DEVICES="3", CUVMM_DEVICE_MEMORY="64M")
    sources, texts = [], {}
    programs = sorted(pathlib.Path(corpus).rglob("*.cuvmm"))
    for path in programs:
        text = path.read_text()
        written = subprocess.run([cuvmm, "to-c", path], capture_output=True, text=True, check=False)
        if THREADED.search(text):
            # A program of several threads cannot be written as C: cuvmm must say so.
            if written.returncode == 0 or "cannot be written as C" not in written.stderr:
                fail(f"{path}: a program of several threads was written as C")
            continue
        if written.returncode != 0:
            if "it is not in every <cuda.h>" in written.stderr:
                continue  # a function of newer headers
            fail(written.stderr)
        if not EXPECTED.search(text):
            fail(f"{path} says nothing of what its calls answer")
        sources.append((path.stem.replace("-", "_"), written.stdout))
        texts[sources[-1][0]] = path
    if len(sources) < len(programs) // 2:
        fail(f"only {len(sources)} of {len(programs)} programs have a C form")
    with tempfile.TemporaryDirectory() as folder:
        source, program = f"{folder}/corpus.c", f"{folder}/corpus"
        pathlib.Path(source).write_text(one_file(sources))
        library = os.path.realpath(emulator)
        subprocess.run(
            [compiler, "-Wall", "-Werror", "-Wno-unused-but-set-variable", f"-I{os.environ['CUDA_INCLUDE']}",
             source, "-o", program, library, f"-Wl,-rpath,{os.path.dirname(library)}"],
            check=True,
        )
        calls = 0
        for name, path in texts.items():
            run = subprocess.run([program, name], capture_output=True, text=True, env=environment, check=False)
            if run.returncode != 0:
                fail(f"{path} as C exits with {run.returncode}:\n{run.stdout}{run.stderr}")
            expected = len(EXPECTED.findall(path.read_text()))
            found = len(answers(run.stdout))
            if found < expected:
                fail(f"{path} as C makes {found} calls, and its text expects answers of {expected}")
            calls += found
    print(f"{len(sources)} programs of {len(programs)} as C, {calls} answers as expected")


if __name__ == "__main__":
    main()
