# SPDX-License-Identifier: Apache-2.0
"""python3 -m cuvmm: the command."""

from cuvmm._command import main

main()
