# SPDX-License-Identifier: Apache-2.0
"""The language of pages: words that they do without, and how long their sentences may be (docs/manual, README.md, docs/MAP.md).

A sentence is counted as a reader meets it: blocks of code, tables, headings and comments do not count, a code span is one word, a link is
its text, an item of a list begins a sentence, and a colon or semicolon does not end one. Words are looked for in tables and headings, too.
"""

import re

MAX_WORDS = 30
MANY_WORDS, MANY_SHARE, MANY_FROM = 25, 0.05, 100  # of all sentences 1 in 20 may have more than 25 words, once there are a hundred
FENCE = re.compile(r"\s*```")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")
NO_SENTENCE = re.compile(r"\s*(?:#|\||<!--|!\[)")
END = re.compile(r"(?<=[.!?])[)*]*\s+(?=[A-Z*\[(]|charmrun\b)")
SPANS = ((re.compile(r"<!--.*?-->", re.DOTALL), ""), (re.compile(r"`(?:[^`\n]|\n(?!\n))+`"), "CODE"), (re.compile(r"</?[a-z][^>\n]*>"), ""),
         (re.compile(r"\]\([^)\s]*\)"), "]"))
WORD = re.compile(r"[\w'`/.+$%-]*\w[\w'`/.+$%-]*")

# What a reader stumbles over, and what is written instead.
DIALECT = tuple((re.compile(rf"\b(?:{words})\b", re.IGNORECASE), instead) for words, instead in (
    (r"whoever|whom|whose|nobody|somebody|everybody|anybody", "name the actor: launcher, process, host, user"),
    (r"tells?|told|telling|untold|hears?|heard|hearing", "a program reports, sends, receives or is notified"),
    (r"says?|said|saying", "a line shows, a page describes, an option sets"),
    (r"believ(?:es?|ed)|lies?(?! in)|liars?|honest|guilty", "a host sends what it should not; a file is in a folder"),
    (r"anew|kin|he|him|his|errands?|visitors?|strangers?|heirs?", "again; compatible libraries; a noun"),
    (r"such(?! as)", "name it"),
    (r"so (?:often|many|much|long)", "give the number"),
    (r"give up|given up|let go|lets go|by itself|of itself|by themselves", "stops, closes, releases; automatically, alone"),
    (r"is of|here is", "has, belongs to"),
    (r"we|us|ours?", "charmrun, a launcher, this machine"),
))


def without_code(text):
    """The page with blocks, code spans, comments, tags and targets of links taken out; its lines keep their numbers."""
    lines, in_block = [], False
    for line in text.split("\n"):
        fence = FENCE.match(line)
        lines.append("" if fence or in_block else line)
        in_block ^= bool(fence)
    for pattern, instead in SPANS:
        text = "\n".join(lines)
        lines = pattern.sub(lambda match: instead + "\n" * match[0].count("\n"), text).split("\n")
    return lines


def sentences(text):
    """Yields (line, words, sentence); the line is that on which its paragraph or item begins."""
    start, parts = 0, []
    for number, line in enumerate([*without_code(text), ""], 1):
        ends = not line.strip() or NO_SENTENCE.match(line) or ITEM.match(line)
        if ends and parts:
            for sentence in END.split(" ".join(parts)):
                yield start, len(WORD.findall(sentence)), sentence.strip()
            parts = []
        if not line.strip() or NO_SENTENCE.match(line):
            continue
        if not parts:
            start = number
        parts.append(ITEM.sub("", line, count=1) if ITEM.match(line) else line.strip())


def dialect(text):
    """Yields (line, word, what is written instead)."""
    for number, line in enumerate(without_code(text), 1):
        for pattern, instead in DIALECT:
            for match in pattern.finditer(line):
                yield number, match[0], instead


def first_example(text):
    """The line of the first block that shows something; 0: there is none."""
    lines = text.split("\n")
    return next((number for number, line in enumerate(lines, 1) if FENCE.match(line) or line.startswith("![")), 0)
