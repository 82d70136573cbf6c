# SPDX-License-Identifier: Apache-2.0
"""Lists the files that clang-tidy reads: several sources of a unity build at once, without tests; or named ones, alone.

Usage: tidy_units.py BUILD_FOLDER [SOURCE...]. Writes BUILD_FOLDER/tidy/compile_commands.json and prints its files.
Sources are read together, because clang-tidy spends most of its time on their common headers. Tests are left out unless
named, because GoogleTest's macros take as long as all other code and hide findings.
"""
import json
import os
import re
import sys


def parts(entry):
    """The sources that an entry of compile_commands.json compiles."""
    if "/Unity/" not in entry["file"]:
        return [entry["file"]]
    with open(entry["file"], encoding="utf-8") as file:
        return re.findall(r'^#include "([^"]+)"', file.read(), re.M)


def reading(entry, file):
    return {**entry, "file": file, "command": entry["command"].replace(entry["file"], file)}


def without_tests(build, entry):
    """The entry without the tests among its sources; None if no source remains."""
    sources = parts(entry)
    wanted = [source for source in sources
            if not source.endswith(("_test.cc", ".S")) and not source.startswith(build + os.sep)]
    if len(wanted) in (0, len(sources)):
        return entry if wanted else None
    unit = os.path.join(build, "tidy", os.path.relpath(entry["file"], build).replace(os.sep, "_") + ".cc")
    with open(unit, "w", encoding="utf-8") as file:
        file.write("".join(f'#include "{source}"\n' for source in wanted))
    return reading(entry, unit)


def main():
    build, named = os.path.abspath(sys.argv[1]), [os.path.abspath(path) for path in sys.argv[2:]]
    os.makedirs(os.path.join(build, "tidy"), exist_ok=True)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    if named:
        homes = {source: entry for entry in entries for source in parts(entry)}
        for path in named:
            if path not in homes:
                sys.exit(f"{os.path.relpath(path)}: no target of the build compiles it")
        chosen = [reading(homes[path], path) for path in named]
    else:
        # Lists a source of several targets only once.
        chosen = list({entry["file"]: entry
                       for entry in filter(None, (without_tests(build, entry) for entry in entries))}.values())
    with open(os.path.join(build, "tidy", "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(chosen, file, indent=1)
    print("\n".join(entry["file"] for entry in chosen))


main()
