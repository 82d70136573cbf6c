# SPDX-License-Identifier: Apache-2.0
"""The recipes of package managers: each parses, and all say the same of cuvmm as its own sources.

Usage: recipes_test.py CUDA_INCLUDE [unittest arguments]. What needs emulator/python/requirements.txt is skipped without it.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent
CUDA_INCLUDE = sys.argv[1]
PLACE_HOLDER = "0" * 64
# The names in each package manager of what cmake/Dependencies.cmake looks for, by the name in Debian.
NAMES = {
    "libcli11-dev": ("cli11",) * 4,
    "nlohmann-json3-dev": ("nlohmann_json", "nlohmann-json", "nlohmann_json", "nlohmann-json"),
    "libfmt-dev": ("fmt",) * 4,
    "libtomlplusplus-dev": ("tomlplusplus",) * 4,
    "python3": ("python", "python", "python3", "python@3.13"),
    "libzstd": ("zstd-static", "zstd", "zstd", "zstd"),
    "liblz4": ("lz4-c-static", "lz4", "lz4", "lz4"),
    "libdw": ("elfutils",) * 4,
}


def loaded_fill():
    loader = importlib.machinery.SourceFileLoader("fill", str(HERE / "fill"))
    module = types.ModuleType("fill")
    module.__file__ = str(HERE / "fill")
    loader.exec_module(module)
    return module


FILL = loaded_fill()


def text_of(name):
    return (HERE / name).read_text(encoding="utf-8")


def conda():
    """The facts of the recipe: version, names of dependencies, options of CMake."""
    import yaml
    value = yaml.safe_load(text_of("conda-forge/recipe.yaml"))
    needs = [one.split()[0] for part in ("build", "host") for one in value["requirements"][part]]
    configure, build, install = value["build"]["script"]
    assert "--target installed" in build and install.startswith("cmake --install")
    return value["context"]["version"], needs, re.findall(r"-D\S+", configure)


def spack():
    facts = {"versions": [], "needs": []}

    class CMakePackage:
        def define(self, name, value):
            word = {True: "ON", False: "OFF"}.get(value, value)
            return f"-D{name}={word}"

    cuda = types.SimpleNamespace(prefix=types.SimpleNamespace(include="CUDA"))
    package = types.ModuleType("spack.package")
    package.CMakePackage = CMakePackage
    package.version = lambda number, sha256: facts["versions"].append(number)
    package.depends_on = lambda spec, type=("build", "link"): facts["needs"].append(re.split(r"[@ ]", spec)[0])
    package.license = package.requires = package.conflicts = package.generator = lambda *_, **__: None
    package.__all__ = [name for name in vars(package) if not name.startswith("_")]
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": package})
    scope = {}
    exec(compile(text_of("spack/cuvmm/package.py"), "package.py", "exec"), scope)  # pylint: disable=exec-used
    recipe = scope["Cuvmm"]()
    recipe.spec = {"cuda": cuda}
    assert recipe.build_targets == ["installed"]
    [version] = facts["versions"]
    return version, facts["needs"], recipe.cmake_args()


def tree_of(language, text):
    """The text's syntax tree by tree-sitter; fails at the first error."""
    import tree_sitter
    grammar = importlib.import_module(f"tree_sitter_{language}")
    tree = tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(text.encode())
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        assert not node.is_error and not node.is_missing, f"{language}: line {node.start_point[0] + 1}: {node}"
        waiting += node.children
    return tree


def nix():
    text = text_of("nix/package.nix")
    inputs = re.search(r"\{(.*?)\}:", text, re.S)[1].replace("\n", " ").split(",")
    assert 'ninjaFlags = [ "installed" ];' in text
    return re.search(r'version = "([^"]+)"', text)[1], [one.strip() for one in inputs], re.findall(r'"(-D[^"]+)"', text)


def homebrew():
    text = text_of("homebrew/cuvmm.rb")
    assert '"--target", "installed"' in text
    return (re.search(r"/cuvmm-([\d.]+)\.tar\.gz", text)[1], re.findall(r'depends_on "([^"]+)"', text),
            re.findall(r'"(-D[^"]+)"', text))


class Recipes(unittest.TestCase):
    def recipes(self):
        return [conda(), spack(), nix(), homebrew()]

    def test_versions_are_the_projects(self):
        for version, _, _ in self.recipes():
            self.assertEqual(version, FILL.version())

    def test_dependencies_are_those_that_the_build_looks_for(self):
        wanted = set(re.findall(r"^needs\(\w+ ([\w-]+)\)", (SOURCE / "cmake/Dependencies.cmake").read_text(encoding="utf-8"), re.M))
        self.assertLessEqual(wanted, set(NAMES))
        for place, (_, needs, _) in enumerate(self.recipes()):
            missing = {names[place] for names in NAMES.values()} - set(needs)
            self.assertEqual(missing, set(), f"recipe {place}")

    def test_the_sources_can_be_configured_with_the_options_of_all(self):
        wanted = None
        for _, _, options in self.recipes():
            plain = sorted(one for one in options if not one.startswith("-DCUVMM_CUDA_INCLUDE="))
            self.assertEqual(len(plain) + 1, len(options))
            self.assertEqual(plain, wanted or plain)
            wanted = plain
        with tempfile.TemporaryDirectory(prefix="cuvmm-recipe-") as folder:
            configure = ["cmake", "-S", str(SOURCE), "-B", folder, "-G", "Ninja", f"-DCUVMM_CUDA_INCLUDE={CUDA_INCLUDE}", *wanted]
            done = subprocess.run(configure, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertNotIn("Manually-specified variables were not used", done.stdout)
            steps = subprocess.run(["ninja", "-C", folder, "-t", "commands", "installed"], stdout=subprocess.PIPE, text=True,
                                   check=True).stdout
            self.assertIn(" -o bin/cuvmm ", steps)

    @unittest.skipUnless(importlib.util.find_spec("tree_sitter_nix"), "tree-sitter-nix is not installed")
    def test_nix_and_ruby_parse(self):
        tree_of("nix", text_of("nix/package.nix"))
        tree_of("ruby", text_of("homebrew/cuvmm.rb"))
        with self.assertRaises(AssertionError):
            tree_of("nix", text_of("nix/package.nix").replace("];", "]", 1))
        with self.assertRaises(AssertionError):
            tree_of("ruby", text_of("homebrew/cuvmm.rb").rsplit("end", 1)[0])

    def test_fill_writes_version_address_and_checksum(self):
        url = "https://example.org/me/cuvmm/releases/download/v9/cuvmm-9.tar.gz"
        with tempfile.TemporaryDirectory(prefix="cuvmm-recipe-") as folder:
            for name in FILL.FILES:
                copy = pathlib.Path(folder, name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(HERE / name, copy)
                copy.write_text(copy.read_text(encoding="utf-8").replace(FILL.version(), "0.0.7"), encoding="utf-8")
            archive = pathlib.Path(folder, "cuvmm-9.tar.gz")
            archive.write_bytes(b"sources")
            FILL.main(url, archive, folder)
            for name in FILL.FILES:
                text = pathlib.Path(folder, name).read_text(encoding="utf-8")
                self.assertIn(url, text)
                self.assertNotIn(PLACE_HOLDER, text)
                self.assertNotIn("OWNER", text)
                self.assertNotIn("0.0.7", text)
                self.assertIn(FILL.hashlib.sha256(b"sources").hexdigest(), text)


if __name__ == "__main__":
    if importlib.util.find_spec("yaml") is None:
        print("skipped: this Python has no YAML; `./dev test` installs it (emulator/python/requirements.txt)")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
