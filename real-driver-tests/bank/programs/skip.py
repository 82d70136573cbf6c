# SPDX-License-Identifier: Apache-2.0
"""What a program raises where it cannot run."""


class Skipped(Exception):
    """Its text says why."""
