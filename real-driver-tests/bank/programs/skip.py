# SPDX-License-Identifier: Apache-2.0
"""The exception of a program that cannot run."""


class Skipped(Exception):
    """The text says why."""
