#!/usr/bin/python3
"""Reads the texts in the programs' sources, and names those that send a user to a file of the source tree.

usage: check_messages.py [ROOT]        prints FILE:LINE: what is wrong, and exits with 1 if there is anything

A user has what is installed, and no README beside it: a message says `hotplate help TOPIC` instead. Texts are string
literals, docstrings among them; comments are for those who have the tree.
"""

import ast
import pathlib
import re
import sys

FOLDERS = ("client/cli", "client/lib", "client/python/hotplate", "client/python/src", "server", "kernels")
NAMED = re.compile(r"\b(?:README|CONTRIBUTING|CHANGELOG)\.md\b|(?<![\w/.$~{}-])(?:client|deploy|kernels|proto|server|tests)/[\w./-]*\w")
# One token at a time, so that a quote in a comment, or "//" in a text, is what it is.
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|^\s*#\s*include[^\n]*|R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)*\'',
                   re.DOTALL | re.MULTILINE)


def texts_of_cpp(source):
    """(line number, text) of each string literal; those that stand side by side are one."""
    last_end, gathered = None, None
    for token in TOKEN.finditer(source):
        text = token.group(2) if token.group(2) is not None else token.group(3)
        if text is None:
            continue
        if gathered and not source[last_end:token.start()].strip():
            gathered[1] += text
        else:
            if gathered:
                yield tuple(gathered)
            gathered = [source.count("\n", 0, token.start()) + 1, text]
        last_end = token.end()
    if gathered:
        yield tuple(gathered)


def texts_of_python(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def check(root):
    root = pathlib.Path(root)
    problems = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root)
            if {"example", "third_party"} & set(name.parts):
                continue  # not part of a program
            if path.suffix in (".cpp", ".h", ".cu"):
                texts = texts_of_cpp(path.read_text(encoding="utf-8"))
            elif path.suffix == ".py":
                texts = texts_of_python(path.read_text(encoding="utf-8"))
            else:
                continue
            problems += [f"{name}:{line}: a user has no {found.group()}: {text.strip()[:80]}"
                         for line, text in texts for found in NAMED.finditer(text)
                         if not found.group().endswith((".h", ".cpp"))]  # what is written for a compiler
    return problems


def main(arguments):
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parents[2]
    problems = check(root)
    print("\n".join(problems) if problems else "no message names a file of the source tree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
