"""A part of a page between two marker lines, written by a program and never by hand. Standard library only."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def options_for(parser, page):
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if the page says something else")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / page)


def says(text, page, begin, end, check):
    """Whether the page's part is `text`; unless it is only to be checked, makes it so first."""
    old = page.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        raise SystemExit(f"{page} has not one pair of the lines\n{begin}\n{end}")
    new = f"{old.split(begin)[0]}{begin}\n{text}\n{end}{old.split(end)[1]}"
    if new != old and not check:
        page.write_text(new, encoding="utf-8")
        return True
    return new == old
