#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OSS-Fuzz and ClusterFuzzLite share the build script in the repository.
set -euo pipefail
exec "$SRC/cuvmm/.clusterfuzzlite/build.sh"
