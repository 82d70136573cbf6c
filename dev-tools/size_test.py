# SPDX-License-Identifier: Apache-2.0
"""size_test.py SOURCE: a checkout has at most 12.8 MB, of which at most 0.4 MB are recorded or generated.

Without git (in a source package, for example) nobody knows which files belong to the checkout: the test is skipped.
"""
import collections
import os
import re
import subprocess
import sys

LIMIT = 12_800_000  # bytes, without .git
LIMIT_OF_DATA = 400_000
# What no person writes: packed recordings, programs that the fuzzer found, and tables made from the toolkits' headers.
DATA = re.compile(r"[.]xz$|^fuzz/corpus/|^api/(symbols|documented_results|decisions)/.*[.](txt|def)$")
ADVICE = """The {size:,} bytes of a checkout are above the limit of {limit:,}. Look at the biggest files below, and
- pack recorded data: conformance/unpack --pack, real-driver-tests/show --add, fuzz/recorded/abridge;
- let the build make what it can compute from other files;
- delete code, pages and recordings that no user would miss."""


def main(source):
    listing = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True, check=False)
    if listing.returncode != 0:
        print("no git repository")
        sys.exit(77)
    sizes = collections.Counter()
    for name in listing.stdout.decode().split("\0"):
        path = os.path.join(source, name)
        if name and os.path.lexists(path):
            sizes[name] = os.lstat(path).st_size
    if len(sizes) < 1000:
        sys.exit(f"git lists only {len(sizes)} files of {source}")
    size = sizes.total()
    data = sum(count for name, count in sizes.items() if DATA.search(name))
    print(f"{size:,} bytes in {len(sizes)} files, of which {data:,} are recorded or generated")
    if data > LIMIT_OF_DATA:
        sys.exit(f"the {data:,} bytes that are recorded or generated are above the limit of {LIMIT_OF_DATA:,}")
    if size <= LIMIT:
        return
    folders = collections.Counter()
    for name, count in sizes.items():
        folders["/".join(name.split("/")[:2])] += count
    print(ADVICE.format(size=size, limit=LIMIT))
    for title, counts in (("files", sizes), ("folders", folders)):
        print(f"The biggest {title}:", *(f"{count:10,} {name}" for name, count in counts.most_common(20)), sep="\n")
    sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
