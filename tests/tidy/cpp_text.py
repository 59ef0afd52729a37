# SPDX-License-Identifier: Apache-2.0
"""Just enough understanding of C and C++ text for tidy.py: code without comments and strings, and where functions are.

No parser: function bodies are found by their braces and by what stands before them. It understands code as clang-format leaves it;
test_tidy.py holds the shapes that it must get right.
"""

import re

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""  # comments
    r"""|R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)\""""  # raw strings
    r"""|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",  # strings and characters (not digit separators)
    re.DOTALL,
)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """The text with comments blanked out; lines and columns stay."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m[0].startswith("/") else m[0], text)


def code_only(text):
    """The text with comments and the contents of strings blanked out (quotes stay); lines and columns stay."""

    def replace(match):
        token = match[0]
        if token.startswith("/"):
            return _blank(token)
        return token[0] + _blank(token[1:-1]) + token[-1]

    return _TOKEN.sub(replace, text)


def without_preprocessor(code):
    """The code with the preprocessor's lines blanked out; lines and columns stay."""
    return _PREPROCESSOR.sub(lambda m: _blank(m[0]), code)


def includes(text):
    """Yields (line, quoted, name) for each #include."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', without_comments(text), re.MULTILINE):
        yield text.count("\n", 0, match.start(1)) + 1, match[1] == '"', match[2]


def unnamed_namespaces(text):
    """Yields (first line, last line) of each unnamed namespace."""
    code = code_only(text)
    for match in re.finditer(r"\bnamespace\s*\{", code):
        yield code.count("\n", 0, match.start()) + 1, code.count("\n", 0, closing(code, match.end() - 1)) + 1


def closing(code, opening):
    """Index of the brace that closes the one at `opening`; the end of the text if there is none."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


_SCOPE = re.compile(r"\bnamespace\b|\bextern\s*\"[^\"]*\"$")
_TYPE = re.compile(r"\b(?:class|struct|union|enum)\b")
_INITIALISER = re.compile(r"(?<!operator)=\s*[\w:<>,\s*&]*$|\breturn\b[\w:<>,\s]*$")
_MEMBER_INITIALISER = re.compile(r"\)[^:;]*(?<!:):(?!:).*[\w>]$", re.DOTALL)
_DECORATION = re.compile(r"\btemplate\s*<[^{};]*?>(?=\s*(?:\w|$))|\balignas\s*\([^)]*\)|\[\[[^\]]*\]\]|\b__attribute__\s*\(\(.*?\)\)")
# What may stand before a head without belonging to it: labels, and macros on lines of their own.
_LEADING = re.compile(r"^(?:\s|\b(?:public|private|protected)\s*:|[A-Z][A-Z0-9_]*\([^(){};]*\)[ \t]*\n)+")


def _kind(head):
    """What the brace after `head` opens: 'scope' (functions may be inside), 'function', 'member' (initialiser), or 'other'."""
    head = _DECORATION.sub(" ", head).strip()
    if _SCOPE.search(head) and "(" not in head:
        return "scope"
    if _TYPE.search(head) and "(" not in head:
        return "scope"
    if _INITIALISER.search(head):
        return "other"
    if _MEMBER_INITIALISER.search(head):
        return "member"
    return "function" if ")" in head else "other"


def functions(text):
    """Yields (first line, last line, head) of each outermost function body; what is inside it (lambdas, local types) belongs to it."""
    code = without_preprocessor(code_only(text))
    start = position = 0
    for_boundaries = re.compile(r"[{};]")
    while match := for_boundaries.search(code, position):
        position = match.end()
        if match[0] != "{":
            if match[0] == ";" and code.count("(", start, match.start()) > code.count(")", start, match.start()):
                continue  # inside parentheses
            start = position
            continue
        head = _LEADING.sub("", code[start : match.start()])
        kind = _kind(head)
        if kind == "scope":
            start = position
            continue
        end = closing(code, match.start())
        position = end + 1
        if kind == "member" or (kind == "other" and code[start : match.start()].count("(") > code[start : match.start()].count(")")):
            continue  # still in the same head: a member initialiser, or a default argument in braces
        if kind == "function":
            first = code.count("\n", 0, match.start() - len(head)) + 1
            yield first, code.count("\n", 0, end) + 1, " ".join(head.split())
        start = position
