# SPDX-License-Identifier: Apache-2.0
"""Serves requests until a file is there."""

import os

from charm4py import charm


def main(args: list[str]) -> None:
    print("serving", flush=True)
    while not os.path.exists(args[1]):
        charm.sleep(0.02)
    charm.exit(0)


charm.start(main)
