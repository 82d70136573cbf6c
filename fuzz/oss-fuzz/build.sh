#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One script builds for OSS-Fuzz and for ClusterFuzzLite: the one in the repository.
set -euo pipefail
exec "$SRC/cuvmm/.clusterfuzzlite/build.sh"
