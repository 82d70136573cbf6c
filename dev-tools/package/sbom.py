# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of what users load, as CycloneDX: cuvmm, what is compiled into it, and what it needs at run time.

Usage: sbom.py FILE [EPOCH]. Versions are those of the packages here. By a Python that has
dev-tools/package/release-requirements.txt. The same sources, packages and EPOCH give the same bytes.
"""
import datetime
import os
import re
import subprocess
import sys
import uuid

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Pattern of an included header -> the part that is compiled into cuvmm, its Debian package, and its licence.
COMPILED_IN = {
    "CLI/": ("CLI11", "libcli11-dev", "BSD-3-Clause"),
    "nlohmann/": ("nlohmann-json", "nlohmann-json3-dev", "MIT"),
    "fmt/": ("fmt", "libfmt-dev", "MIT"),
    "toml++/": ("toml++", "libtomlplusplus-dev", "MIT"),
    "zstd.h": ("zstd", "libzstd-dev", "BSD-3-Clause"),
    "lz4.h": ("lz4", "liblz4-dev", "BSD-2-Clause"),
    "backtrace.h": ("libbacktrace", "gcc-12", "BSD-3-Clause"),
}
GCC_RUNTIME = ("libstdc++ and libgcc", "g++-12", "GPL-3.0-or-later WITH GCC-exception-3.1")
NEEDED = {
    "elfutils/": ("libdw (the Debian package only)", "libdw1", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    "": ("glibc", "libc6", "LGPL-2.1-or-later"),
}
# Headers that add no part: those of the C library, C++, the system and CUDA; of sanitizers, which no package has; and of
# GoogleTest, for the listener of users' tests.
PLAIN = re.compile(r"[a-z_0-9]+(\.h)?|(sys|linux|asm|net|netinet|arpa|bits|sanitizer|vulkan)/.*|cuda\w*\.h|cxxabi\.h|gtest/gtest\.h|gmock/gmock\.h|cuvmm/.*")
SHIPPED = ("api", "emulator", "injected_failures", "kernels", "frames", "program", "recorder", "rulebook", "shim", "tools", "conformance/run", "include")


def headers(folders=SHIPPED):
    """The <headers> that shipped sources include, each with the folder of the source."""
    found = set()
    for folder in folders:
        for where, _, names in os.walk(os.path.join(SOURCE, folder)):
            for name in names:
                if name.endswith((".cc", ".h", ".c")) and "_test" not in name and "testing" not in where:
                    with open(os.path.join(where, name), encoding="utf-8") as file:
                        found |= set(re.findall(r"^\s*#\s*include <([^>]+)>", file.read(), re.M))
    return found


def parts():
    """(the parts that are compiled in, the parts that are needed at run time)"""
    seen = headers()

    def used(key):
        return key == "" or any(name == key or (key.endswith("/") and name.startswith(key)) for name in seen)

    return ([part for key, part in COMPILED_IN.items() if used(key)] + [GCC_RUNTIME],
            [part for key, part in NEEDED.items() if used(key)])


def strangers():
    """Libraries of the build and included headers that this file does not know."""
    known = {package for _, package, _ in [*COMPILED_IN.values(), *NEEDED.values()]}
    with open(os.path.join(SOURCE, "cmake", "Dependencies.cmake"), encoding="utf-8") as file:
        wanted = set(re.findall(r"^needs\(\S+ (\S+)\)", file.read(), re.M))
    mine = tuple(key for key in [*COMPILED_IN, *NEEDED] if key)
    return (wanted - known) | {name for name in headers() if not name.startswith(mine) and not PLAIN.fullmatch(name)}


def version_of(package):
    """The version of the installed package, or of the same package with another number (g++-13)."""
    pattern = re.sub(r"-\d+$", "-[0-9]*", package)
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", pattern], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True).stdout.split("\n")
    exact = [line.split() for line in listed if line]
    chosen = next((pair for pair in exact if pair[0] == package), exact[0] if exact else [package, "unknown"])
    return chosen


def own_version():
    with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(cuvmm VERSION ([\d.]+)", file.read())[1]


def component(part, how):
    from cyclonedx.model import Property
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression
    from packageurl import PackageURL
    name, wanted, licence = part
    package, version = version_of(wanted)
    return Component(name=name, version=version, type=ComponentType.LIBRARY, bom_ref=name, licenses=[LicenseExpression(licence)],
                     purl=PackageURL("deb", "debian", package, version), properties=[Property(name="cuvmm:how", value=how)])


def made(epoch):
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import LicenseExpression
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"cuvmm-{own_version()}-{epoch}"))
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    whole = Component(name="cuvmm", version=own_version(), type=ComponentType.APPLICATION, bom_ref="cuvmm",
                      licenses=[LicenseExpression("Apache-2.0")],
                      description="Finds misuse of the CUDA driver's memory APIs, and runs programs that use them without a GPU")
    bom.metadata.component = whole
    inside, needed = parts()
    found = [component(part, "compiled in") for part in inside] + [component(part, "needed at run time") for part in needed]
    for each in found:
        bom.components.add(each)
    bom.register_dependency(whole, found)
    return bom


def text_of(bom):
    """The text, which is checked against the schema of CycloneDX."""
    from cyclonedx.output.json import JsonV1Dot6
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    text = JsonV1Dot6(bom).output_as_string(indent=2) + "\n"
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert wrong is None, wrong
    return text


def main(file, epoch="0"):
    assert not strangers(), f"sbom.py knows nothing of {strangers()}"
    text = text_of(made(int(epoch)))
    with open(file, "w", encoding="utf-8") as out:
        out.write(text)
    print(f"{file}: {text.count('bom-ref') - 1} parts beside cuvmm")


if __name__ == "__main__":
    main(*sys.argv[1:])
