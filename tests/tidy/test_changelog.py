# SPDX-License-Identifier: Apache-2.0
"""The entries in changelog.d/ are well formed, and changelog.d/gather moves them into CHANGELOG.md."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = "# Changelog\n\n## [Unreleased]\n\nSome words.\n\n### Fixed\n\n- Old.\n\n## [0.1.0] - 2026-01-01\n\n- First.\n"


def gather(*arguments):
    """Runs changelog.d/gather."""
    command = [sys.executable, str(ROOT / "changelog.d/gather"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d/README.md").write_text("# Entries\n", encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    return tmp_path


def add(tree, name, text):
    (tree / "changelog.d" / name).write_text(text, encoding="utf-8")


def test_the_entries_are_well_formed():
    result = gather("--check")
    assert result.returncode == 0, result.stderr


def test_a_release_has_what_was_unreleased_and_the_entries(tree):
    add(tree, "b.fixed.md", "`++b` works.\n")
    add(tree, "a.fixed.md", "`++a` works,\nalso on two lines.\n")
    add(tree, "c.added.md", "`++c`.\n")
    result = gather("0.2.0", "--date", "2026-02-03", "--root", str(tree))
    assert result.returncode == 0, result.stderr
    assert (tree / "CHANGELOG.md").read_text(encoding="utf-8") == (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\nSome words.\n\n### Fixed\n\n- Old.\n\n"
        "### Added\n\n- `++c`.\n\n### Fixed\n\n- `++a` works, also on two lines.\n- `++b` works.\n\n## [0.1.0] - 2026-01-01\n\n- First.\n")
    assert [path.name for path in (tree / "changelog.d").iterdir()] == ["README.md"]


@pytest.mark.parametrize(("name", "text", "why"), [
    ("a.broken.md", "Words.\n", "KIND"), ("A B.fixed.md", "Words.\n", "KIND"), ("a.fixed.md", "\n", "one paragraph"),
    ("a.fixed.md", "One.\n\nTwo.\n", "one paragraph"), ("a.fixed.md", "- One.\n", "one paragraph"), ("a.fixed.md", "No stop\n", "full stop"),
    ("a.fixed.md", "x" * 300 + ".\n", "301 characters"),
])
def test_what_is_no_entry_is_refused_and_nothing_changes(tree, name, text, why):
    add(tree, name, text)
    result = gather("0.2.0", "--root", str(tree))
    assert result.returncode == 1
    assert name in result.stderr
    assert why in result.stderr
    assert (tree / "CHANGELOG.md").read_text(encoding="utf-8") == CHANGELOG
    assert (tree / "changelog.d" / name).exists()


def test_a_version_is_three_numbers(tree):
    assert gather("next", "--root", str(tree)).returncode == 2
