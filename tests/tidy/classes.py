# SPDX-License-Identifier: Apache-2.0
"""How large the product's classes are: data members, methods, and .cpp files that their methods are spread over (rule class-size).

No parser: a class's body is cut into declarations by its braces and semicolons, as clang-format leaves them; test_tidy.py holds the
shapes that it must get right. Data members of bases count, wherever in the product these are: a class gets no smaller by an heir.
Constants and other static members, friends, local types and deleted functions do not.
"""

import re
from dataclasses import dataclass, field

import cpp_text
from layers import LARGE_CLASSES, MAX_CLASS_FILES, MAX_DATA_MEMBERS, MAX_METHODS, PRODUCT, under

_CLASS = re.compile(r"\b(?<!enum )(?:class|struct|union)\s+(?:alignas\([^)]*\)\s*)?(?P<name>\w+)(?:\s+final)?\s*(?P<bases>:[^:;{}()][^;{}()]*)?\{")
_LABEL = re.compile(r"^\s*(?:public|private|protected)\s*:(?!:)")
_NO_MEMBER = re.compile(r"(?:using|(?:__extension__ )?typedef|friend|static_assert|enum|template\s+class)\b")
_QUALIFIED = re.compile(r"((?:\w+::)+)(?:~?\w+|operator\s*[^\s\w(]+|operator\(\)|operator [\w:]+)\s*\(")
LIMITS = (("data members", MAX_DATA_MEMBERS), ("methods", MAX_METHODS), (".cpp files", MAX_CLASS_FILES))


@dataclass
class Class:
    """One class as it is defined; `name` with the classes that it is in: Outer::Inner."""

    path: str
    line: int
    name: str
    bases: list
    members: int = 0
    methods: int = 0
    files: set = field(default_factory=set)


def without_angles(text):
    """The text with the arguments of templates blanked out, so that what is inside them does not count."""
    pattern = re.compile(r"(?<=\w)<[^<>;{}]*>|(?<=\btemplate )<[^<>;{}]*>")
    while True:
        blanked = pattern.sub(lambda m: " " * len(m[0]), text)
        if blanked == text:
            return text
        text = blanked


def declarations(body):
    """Yields the declarations of a class's body: text at its own level, with each pair of braces in it emptied."""
    depth = parentheses = 0
    text = ""
    for position, char in enumerate(body):
        if char == "{":
            depth += 1
            text += char if depth == 1 else ""
        elif char == "}":
            depth -= 1
            text += char if depth == 0 else ""
            rest = body[position + 1 :].lstrip()
            if depth == 0 and parentheses == 0 and ends_with_body(text, rest):
                yield text
                text = ""
        elif depth == 0:
            parentheses += {"(": 1, ")": -1}.get(char, 0)
            if char == ";" and parentheses == 0:
                yield text
                text = ""
            else:
                text += char


def ends_with_body(text, rest):
    """The braces that `text` ends with are a function's body, and not an initialiser or a type with declarators behind it."""
    head = stripped(text[: text.rfind("{")])
    return is_function(head) and not rest.startswith((",", ";", "{")) if head else True


def stripped(declaration):
    """Without labels of access, templates' heads and attributes."""
    while match := _LABEL.match(declaration):
        declaration = declaration[match.end() :]
    text = without_angles(" ".join(declaration.split()))
    return re.sub(r"^(?:template\s*|\[\[[^\]]*\]\]\s*|requires\b[^;{}]*?\)\s+(?=\w))+", "", text).strip()


def is_function(text):
    """It declares a function: a parenthesis comes before any initialiser."""
    return bool(re.match(r"[^={]*\(|.*\boperator\b", text)) and not re.match(r"(?:class|struct|union|enum)\b[^(]*\{", text)


def count(declaration):
    """(data members, methods) of one declaration."""
    text = stripped(declaration)
    if not text or _NO_MEMBER.match(text):
        return 0, 0
    if re.match(r"(?:class|struct|union)\b", text) and not re.search(r"\}\s*\w", text) and "(" not in text:
        return (0, 0) if "{" in text or re.fullmatch(r"(?:class|struct|union) \w+", text) else (1, 0)
    if is_function(text):
        return 0, 0 if re.search(r"=\s*delete$", text) else 1
    if re.match(r"(?:inline |constexpr )*static\b", text):
        return 0, 0
    return 1 + re.sub(r"\{[^}]*\}|\([^)]*\)", "", text).count(","), 0


def classes_of(path, text):
    """The classes that are defined in a file, those in others included."""
    code = cpp_text.without_preprocessor(cpp_text.code_only(text))
    outer = []  # (end, name)
    for match in _CLASS.finditer(code):
        opening = match.end() - 1
        closing = cpp_text.closing(code, opening)
        outer = [(end, name) for end, name in outer if end > opening]
        name = "::".join([name for _, name in outer] + [match["name"]])
        outer.append((closing, match["name"]))
        bases = re.findall(r"(\w+)\s*(?:,|$)", without_angles(match["bases"] or "").strip(": "))
        found = Class(path, code.count("\n", 0, match.start()) + 1, name, bases)
        for declaration in declarations(code[opening + 1 : closing]):
            members, methods = count(declaration)
            found.members += members
            found.methods += methods
        yield found


def homes_of(text):
    """The classes whose methods a .cpp defines, as they stand before the method's name."""
    for _, _, head in cpp_text.functions(text):
        if match := _QUALIFIED.search(without_angles(head)):
            yield match[1].removesuffix("::")


def near(source):
    """A file and those that it includes: where the classes that it names are looked for."""
    return {source.path} | {name for _, quoted, name in source.includes if quoted}


def with_bases(each, classes, seen):
    """The data members of a class and of its bases; `seen`: what each file sees."""
    members = each.members
    for base in classes:
        if base.name in each.bases and base is not each and base.path in seen[each.path]:
            members += with_bases(base, classes, seen)
    return members


def measure(sources):
    """All classes of the product."""
    product = [source for source in sources if source.is_cpp and under(source.path, PRODUCT)]
    classes = [found for source in product for found in classes_of(source.path, source.text)]
    seen = {source.path: near(source) for source in product}
    for source in product:
        homes = set(homes_of(source.text)) if source.suffix == ".cpp" else ()
        for each in classes:
            if each.path in seen[source.path] and any(f"::{home}".endswith(f"::{each.name}") for home in homes):
                each.files.add(source.path)
    totals = [with_bases(each, classes, seen) for each in classes]
    for each, total in zip(classes, totals):
        each.members = total
    return classes


def check_classes(sources):
    """No class is over the limits but those that are known to be, and these do not grow."""
    paths = {source.path for source in sources}
    over = set()
    for each in measure(sources):
        key = f"{each.path}:{each.name}"
        known = LARGE_CLASSES.get(key)
        sizes = (each.members, each.methods, len(each.files))
        for size, listed, (what, most) in zip(sizes, known or (0, 0, 0), LIMITS):
            if size > most:
                over.add(key)
            if size > max(listed, most):
                grown = f"; {listed} of LARGE_CLASSES (layers.py) may shrink, not grow" if known else ""
                yield each.path, each.line, "class-size", f"{each.name} has {size} {what}, at most {most}{grown}"
    for key in sorted(set(LARGE_CLASSES) - over):
        place = next((path for path in (key.split(":")[0], "tests/tidy/layers.py") if path in paths), None)
        if place:
            yield place, 1, "class-size", f"{key} is within the limits: take it out of LARGE_CLASSES (layers.py)"
