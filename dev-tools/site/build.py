#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site of this version, and fails if anything in it is doubtful or a link is dead.

Usage: build.py FOLDER GENERATED [SCRATCH]. The site comes into FOLDER/VERSION. GENERATED has the pages of docs/generate. Other versions that lie in FOLDER stay, and each offers
the others. By the Python that has dev-tools/site/requirements.txt: ./dev site.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import links
import stage

HERE = os.path.dirname(os.path.abspath(__file__))


def version():
    return re.search(r"project\(cuvmm VERSION ([\d.]+)", stage.read(os.path.join(stage.SOURCE, "CMakeLists.txt")))[1]


def build(folder, generated, scratch):
    made = os.path.join(folder, version())
    pages = os.path.join(scratch, "pages")
    stage.main(pages, generated)
    environment = {**os.environ, "CUVMM_SITE_VERSION": version()}
    environment.setdefault("SOURCE_DATE_EPOCH", "0")  # the same sources, the same bytes
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", HERE, "-d", os.path.join(scratch, "read"),
                    "-b", "html", pages, made], check=True, env=environment)
    return made


def offer(folder):
    """Writes the list of the versions in the folder, the newest first."""
    names = [name for name in os.listdir(folder) if re.fullmatch(r"\d+(\.\d+)*", name)]
    names.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    with open(os.path.join(folder, "versions.js"), "w", encoding="utf-8") as file:
        file.write(f"window.cuvmmVersions = {json.dumps(names)};\n")
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
        file.write('<!doctype html><meta charset="utf-8"><title>cuvmm</title>'
                   f'<meta http-equiv="refresh" content="0; url={names[0]}/index.html"><a href="{names[0]}/index.html">cuvmm</a>\n')
    return names


def main(folder, generated, scratch=None):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cuvmm-site-") as temporary:
        made = build(folder, generated, scratch or temporary)
    offer(folder)
    print(made)
    return links.main(made)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except stage.DeadLink as error:
        sys.exit(f"build.py: {error}")
    except subprocess.CalledProcessError:
        sys.exit("build.py: sphinx found something")
