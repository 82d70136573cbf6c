# SPDX-License-Identifier: Apache-2.0
"""size_test.py SOURCE: the files of a checkout have at most 12.56 MB. The aim is 12.0 MB.

Without git (in a source package, for example) nobody knows which files belong to the checkout: the test is skipped.
"""
import collections
import os
import subprocess
import sys

LIMIT = 12_560_000  # bytes, without .git
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
    print(f"{size:,} bytes in {len(sizes)} files")
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
