# SPDX-License-Identifier: Apache-2.0
"""Shows what a service costs outside its folder: adds tests/tidy/stub to a copy of the places that must name it, compiles, and counts."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_FILES = 3  # outside the service's folder
# What is inserted, before which line of which file.
EDITS = (
    ("tree/node/services.hpp", '#include "tree/node/service_list.hpp"', '#include "stub/service.hpp"\n'),
    ("tree/node/services.hpp", "using Services = ServiceList<", None),
    ("tree/io/host/host_runtime.hpp", "  void execute(const proto::Prepare& action);",
     "  void execute(const stub::CountFiles&) { sink_(stub::FilesCounted{1}); }\n"),
    ("tree/CMakeLists.txt", "ct_library(ct_node tree/node ct_services)", "ct_folder(ct_services stub)\n"),
)
# The node, the root's controller and the shell: all that dispatches messages, events and actions.
UNITS = ("tree/node/node_messages.cpp", "tree/node/node.cpp", "tree/node/root_controller.cpp", "tree/io/host/runner.cpp", "stub/messages.cpp")


@unittest.skipUnless(shutil.which("g++"), "there is no g++")
class AService(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "stub").mkdir()
        for source in (REPOSITORY / "tests/tidy/stub").iterdir():
            (self.root / "stub" / source.stem).write_text(source.read_text())  # without .in
        for path, before, text in EDITS:
            self.insert(path, before, text)

    def insert(self, path, before, text):
        edited = self.root / path
        edited.parent.mkdir(parents=True, exist_ok=True)
        source = (edited if edited.exists() else REPOSITORY / path).read_text()
        self.assertEqual(source.count(before), 1, f"{path}: {before}")
        edited.write_text(source.replace(before, text + before if text else before + "stub::Service, "))

    def compile(self, *units):
        """The errors of these units in one; the edited files stand before the repository's."""
        unit = self.root / "unit.cpp"
        unit.write_text("".join(f'#include "{each}"\n' for each in units) +
                        "template class charmtree::node::LauncherComponents<charmtree::node::Services>;\n")
        run = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", f"-I{self.root}", f"-I{REPOSITORY}", str(unit)],
                             capture_output=True, text=True, check=False)
        return [line for line in run.stderr.splitlines() if "error" in line] or ([run.stderr] if run.returncode else [])

    def test_it_is_added_in_three_files(self):
        self.assertEqual(self.compile(*UNITS), [])
        outside = {path for path, _, _ in EDITS}
        self.assertLessEqual(len(outside), MOST_FILES, outside)

    def test_a_message_that_nobody_handles_does_not_compile(self):
        service = self.root / "stub/service.hpp"
        for handler in ("void up(proto::LinkId", "void on(const FilesCounted&"):
            whole = service.read_text()
            self.assertEqual(whole.count(handler), 1)
            service.write_text(whole.replace(handler, handler.replace(" up(", " other(").replace(" on(", " other(")))
            self.assertNotEqual(self.compile("tree/node/services.hpp"), [])
            service.write_text(whole)

    def test_a_number_that_another_message_has_does_not_compile(self):
        service = self.root / "stub/service.hpp"
        service.write_text(service.read_text().replace("CT_MESSAGE(up, 255)", "CT_MESSAGE(up, 0)"))
        errors = self.compile("tree/node/services.hpp")
        self.assertTrue(any("throw" in line for line in errors), errors)
