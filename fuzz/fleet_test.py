#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the containers of a fuzzing fleet against the build, as far as that is possible without running them."""
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[1]
CONTAINERS = [SOURCE / ".clusterfuzzlite/Dockerfile", SOURCE / "fuzz/oss-fuzz/Dockerfile"]


def packages(dockerfile):
    text = dockerfile.read_text().replace("\\\n", " ")
    return set(re.search(r"apt-get install -y --no-install-recommends(.*)", text)[1].split())


class Fleet(unittest.TestCase):
    def test_both_containers_are_alike(self):
        first, second = CONTAINERS
        self.assertEqual(packages(first), packages(second))
        images = {re.search(r"^FROM (.*)$", each.read_text(), re.MULTILINE)[1] for each in CONTAINERS}
        self.assertEqual(len(images), 1)
        # The image without a tag is Ubuntu 20.04, which lacks libtomlplusplus-dev.
        tag = images.pop().split(":")[1]
        for project in (SOURCE / ".clusterfuzzlite/project.yaml", SOURCE / "fuzz/oss-fuzz/project.yaml"):
            self.assertIn(f"base_os_version: {tag}", project.read_text().splitlines())

    def test_the_containers_have_what_the_build_needs(self):
        needed = re.findall(r"^needs\(\w+ (\S+)\)", (SOURCE / "cmake/Dependencies.cmake").read_text(), re.MULTILINE)
        self.assertTrue(needed)
        for each in CONTAINERS:
            self.assertLessEqual({*needed, "cmake", "ninja-build", "python3"}, packages(each))

    def test_the_headers_that_the_script_looks_for_are_fetched(self):
        wanted = re.search(r"\.deps/cuda-([\d.]+)/include", (SOURCE / ".clusterfuzzlite/build.sh").read_text())[1]
        for each in CONTAINERS:
            self.assertIn(f"RUN ./dev headers {wanted}\n", each.read_text())


if __name__ == "__main__":
    unittest.main()
