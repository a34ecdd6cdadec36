#!/usr/bin/python3
"""Follows the links of all Markdown pages below a folder, and names those that lead nowhere.

usage: check_links.py ROOT        prints FILE:LINE: what is wrong, and exits with 1 if there is anything

A link leads to a file below ROOT and, behind "#", to one of its headings. Addresses on the web are not looked at.
"""

import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
SKIPPED = {"build", ".git", "node_modules"}


def pages(root):
    return sorted(path for path in root.rglob("*.md") if not SKIPPED & set(path.relative_to(root).parts))


def lines_without_code(page):
    """(line number, line) of what is not in a fenced block."""
    fenced = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(page):
    """The names that GitHub gives to a page's headings."""
    headings = (line.lstrip("#") for _, line in lines_without_code(page) if re.match(r"#+ ", line))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def check(root):
    root = pathlib.Path(root).resolve()
    problems = []
    for page in pages(root):
        for number, line in lines_without_code(page):
            for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if "://" in link or link.startswith("mailto:"):
                    continue
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                where = f"{page.relative_to(root)}:{number}: "
                if root not in target.parents or not target.exists():
                    problems.append(f"{where}{link} leads nowhere")
                elif anchor and anchor not in anchors(target):
                    problems.append(f"{where}{link}: no such heading")
    return problems


def main(arguments):
    root = pathlib.Path(arguments[0])
    found = pages(root)
    problems = check(root) if found else [f"no page below {root}"]
    print("\n".join(problems) if problems else f"the links of {len(found)} pages lead somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
