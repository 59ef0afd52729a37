# SPDX-License-Identifier: Apache-2.0
"""Shows that what changes a part of the sources makes its tests run again (tests/cluster/parts.py), and nothing else does."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))
import parts  # noqa: E402


class Parts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "kvs").mkdir()
        (self.root / "kvs/a.cpp").write_text("one\n")
        (self.root / "kvs/b.cpp").write_text("two\n")
        (self.root / "other.cpp").write_text("three\n")
        for name, value in (("REPOSITORY", self.root), ("_TESTED", self.root / "parts.txt")):
            patched = mock.patch.object(parts, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def state(self, *paths):
        parts.state_of.cache_clear()
        return parts.state_of(paths or ("kvs",))

    def test_each_change_of_a_part_changes_its_state(self):
        states = [self.state()]
        for name, text in (("a.cpp", "One\n"), ("c.cpp", "new\n"), ("deeper/d.hpp", "")):
            (self.root / "kvs" / name).parent.mkdir(exist_ok=True)
            (self.root / "kvs" / name).write_text(text)
            states.append(self.state())
        (self.root / "kvs/a.cpp").rename(self.root / "kvs/e.cpp")
        states.append(self.state())
        (self.root / "kvs/b.cpp").unlink()
        states.append(self.state())
        self.assertEqual(len(set(states)), len(states))

    def test_what_moves_from_one_file_to_the_next_is_seen(self):
        before = self.state()
        (self.root / "kvs/a.cpp").write_text("one\ntwo\n")
        (self.root / "kvs/b.cpp").write_text("")
        self.assertNotEqual(self.state(), before)

    def test_nothing_else_changes_it(self):
        before = self.state()
        (self.root / "other.cpp").write_text("four\n")
        (self.root / "kvs/__pycache__").mkdir()
        (self.root / "kvs/__pycache__/a.pyc").write_text("compiled\n")
        self.assertEqual(self.state(), before)
        self.assertNotEqual(self.state("kvs", "other.cpp"), before)

    def test_a_path_that_is_not_there_is_no_empty_part(self):
        with self.assertRaises(FileNotFoundError):
            self.state("kvs", "gone")

    def test_what_was_tested_is_kept_beside_what_others_tested(self):
        self.assertEqual(parts.tested(), {})
        parts.write_tested({"rdma": "1"})
        parts.write_tested({"mpi4py": "2"})
        parts.write_tested({"rdma": "3"})
        self.assertEqual(parts.tested(), {"mpi4py": "2", "rdma": "3"})


if __name__ == "__main__":
    unittest.main()
