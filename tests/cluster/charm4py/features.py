# SPDX-License-Identifier: Apache-2.0
"""What charm4py programs are made of, each used across all PEs; prints one line for each, with its result."""

import os
import socket
from operator import mul

from charm4py import Array, Channel, Chare, Group, Reducer, charm, coro

ELEMENTS = 12  # of the array; no multiple of the PEs


class Member(Chare):
    """A group: one on every PE."""

    def place(self):
        return charm.myPe(), os.environ["NETSTART"].split()[0], socket.gethostname()

    def add(self, done):
        self.contribute(charm.myPe() + 1, Reducer.sum, done)

    def add_section(self, section, done):
        self.contribute(1, Reducer.sum, done, section)


class Element(Chare):
    """An element of the array; works with its neighbours in a ring by channels."""

    def __init__(self, ring):
        self.ring = ring

    @coro
    def pass_on(self, done):
        me = self.thisIndex[0]
        right = Channel(self, remote=self.thisProxy[(me + 1) % self.ring])
        left = Channel(self, remote=self.thisProxy[(me - 1) % self.ring])
        seen = [me]
        for _ in range(self.ring - 1):
            right.send(seen[-1])
            seen.append(left.recv())
        self.contribute(sorted(seen) == list(range(self.ring)), Reducer.logical_and, done)

    def largest(self, done):
        self.contribute([self.thisIndex[0], -self.thisIndex[0]], Reducer.max, done)

    def square(self):
        return self.thisIndex[0] ** 2

    def everything(self, done):
        self.contribute(self.thisIndex[0], Reducer.gather, done)

    def product(self, done):
        self.contribute(self.thisIndex[0] + 1, Reducer.products, done)

    @coro
    def meet(self, other, token):
        """A future made here is kept elsewhere."""
        promise = charm.Future()
        other.keep(promise, token)
        return promise.get()

    def keep(self, promise, token):
        promise.send(token * 2)


def products(contributions):
    total = 1
    for value in contributions:
        total = mul(total, value)
    return total


Reducer.addReducer(products)


def power(value):
    return value**3


def pair(left, right):
    return f"{left}{right}"


def ask(proxy, method, *args):
    answer = charm.Future()
    getattr(proxy, method)(*args, answer)
    return answer.get()


def main(args):
    pes = charm.numPes()
    group = Group(Member)
    places = group.place(ret=True).get()
    assert [pe for pe, _, _ in places] == list(range(pes)) == [int(process) for _, process, _ in places]
    print("group:", pes, "PEs on", len({host for _, _, host in places}), "hosts")
    print("reduction:", ask(group, "add") == pes * (pes + 1) // 2)

    array = Array(Element, ELEMENTS, args=[ELEMENTS])
    print("array:", [array[i].square(ret=True).get() for i in (0, 5, ELEMENTS - 1)])
    print("array reductions:", [int(one) for one in ask(array, "largest")], ask(array, "everything") == list(range(ELEMENTS)))
    print("own reducer:", ask(array, "product"))
    print("channels:", ask(array, "pass_on"))
    print("futures:", [array[0].meet(array[i], i, ret=True).get() for i in (1, ELEMENTS - 1)])

    halves = charm.split(group, 2, elems=[list(range(0, pes, 2)), list(range(1, pes, 2))])
    print("sections:", sum(ask(half, "add_section", half) for half in halves) == pes)

    print("pool map:", charm.pool.map(power, range(6)))
    print("pool tasks:", charm.pool.Task(pair, ("po", "ol"), ret=True).get())
    print("all done")
    charm.exit()


charm.start(main)
