# SPDX-License-Identifier: Apache-2.0
"""A complete charm4py program: every PE says hello, then all of them add up their numbers.

charmrun +p8 ++nodelist nodes python3 examples/charm4py_hello.py
"""

import os
import socket

from charm4py import Group, Chare, Reducer, charm


class Hello(Chare):
    """One of these lives on every PE."""

    def say(self):
        print(f"hello from PE {charm.myPe()} of {charm.numPes()}: process {os.getpid()} on {socket.gethostname()}", flush=True)

    def add(self, done):
        self.contribute(charm.myPe(), Reducer.sum, done)


def main(args):
    hellos = Group(Hello)
    hellos.say(awaitable=True).get()
    total = charm.Future()
    hellos.add(total)
    pes = charm.numPes()
    result, expected = total.get(), pes * (pes - 1) // 2
    print(f"sum of all PE numbers: {result} ({'right' if result == expected else f'should be {expected}'})", flush=True)
    if result != expected:
        charm.abort("wrong sum")
    charm.exit()


charm.start(main)
