# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes manifest: valid by the published schemas, and its command does what a hand would: kubernetes_test.py CUVMM.

Needs PyYAML and kubernetes-validate of PyPI; exits with 77 where they are missing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77

try:
    import kubernetes_validate
    import yaml
except ImportError as missing:
    print(f"{missing}: skipped")
    sys.exit(SKIPPED)


def shell(command, cuvmm, **environment):
    path = f"{cuvmm.parent}:{os.environ['PATH']}"
    return subprocess.run(["/bin/sh", "-c", command], env=os.environ | environment | {"PATH": path}, check=True, timeout=120)


def main(cuvmm):
    documents = list(yaml.safe_load_all((HERE / "kubernetes.yaml").read_text()))
    for document in documents:
        for version in ("1.30", kubernetes_validate.latest_version()):
            kubernetes_validate.validate(document, version, strict=True)
    job = documents[-1]["spec"]
    container = job["template"]["spec"]["containers"][0]
    command = container["args"][0]
    assert f"/{job['completions']}\"" in command, "one shard for each index"
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name, line in (("pod", command),
                           ("hand", f"cuvmm work run --conformance --shard 7/{job['completions']} --out /results "
                                    "--node node-$(printf %s there | sha256sum | cut -c1-8)")):
            out = pathlib.Path(folder, name)
            line = line.replace("/results", str(out)).replace("work run", "work run --emulate")
            shell(line, cuvmm, JOB_COMPLETION_INDEX="6", NODE="there")
            (file,) = out.rglob("*.json")
            results.append((file.name, file.read_bytes()))
        assert results[0] == results[1], "the pod's result is not that of the same shard by hand"
    print(f"{len(documents)} documents are valid; the pod's shard is byte-equal to the same shard by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
