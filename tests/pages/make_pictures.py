#!/usr/bin/env python3
"""Makes the pictures of README with a built program: what mandelbrot draws, and `hotplate top` as tmux shows it.

usage: tests/pages/make_pictures.py [--programs build/release/bin] [--out client/docs/pictures]

Needs tmux. The daemon is one of its own, on the CPU, in a temporary folder. Nothing in the pictures is made up: top.svg is
what the terminal held at that moment.
"""

import argparse
import html
import os
import pathlib
import re
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The command under the picture in README.
MANDELBROT = ("run mandelbrot --resolution 480 --max-iterations 2000 --x-min -0.748 --x-max -0.742 --y-min 0.1 --y-max 0.106 "
              "-o mandelbrot.png").split()
COLUMNS, LINES = 96, 16
WIDTH, HEIGHT = 8.4, 18  # of a character, in pixels
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "36": "#a5d6ff"}
ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def spans(line):
    """(text, style) for each run of a line as `tmux capture-pane -e` prints it."""
    style = ""
    for index, part in enumerate(ESCAPE.split(line)):
        if index % 2 == 0:
            if part:
                yield part, style
            continue
        for code in part.split(";"):
            if code in ("", "0", "39"):
                style = ""
            elif code == "1":
                style += ' font-weight="bold"'
            elif code == "2":
                style += ' opacity="0.6"'
            elif code in COLOURS:
                style += f' fill="{COLOURS[code]}"'


def svg(lines):
    """A dark terminal with these lines."""
    rows = []
    for number, line in enumerate(lines):
        column = 0
        for text, style in spans(line):
            rows.append(f'<text x="{16 + column * WIDTH:.1f}" y="{48 + number * HEIGHT}" textLength="{len(text) * WIDTH:.1f}"'
                        f'{style}>{html.escape(text)}</text>')
            column += len(text)
    width, height = round(32 + COLUMNS * WIDTH), 48 + len(lines) * HEIGHT
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        "<title>hotplate top</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
        '<circle cx="18" cy="16" r="5" fill="#ff5f56"/><circle cx="36" cy="16" r="5" fill="#ffbd2e"/>'
        '<circle cx="54" cy="16" r="5" fill="#27c93f"/>',
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14" '
        'fill="#e6edf3" xml:space="preserve">', *rows, "</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "client/docs/pictures")
    options = parser.parse_args()
    hotplate, out = str(options.programs.resolve() / "hotplate"), options.out.resolve()
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOTPLATE_")}
        environment |= {"HOTPLATE_DIR": f"{folder}/hotplate", "HOTPLATE_DEVICE": "cpu", "LC_ALL": "C.UTF-8"}

        def run(*words):
            subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)

        tmux = ["tmux", "-S", f"{folder}/tmux", "-f", "/dev/null"]
        run(hotplate, "up", "--local")
        try:
            run(hotplate, *MANDELBROT)
            run(hotplate, "run", "random", "--rows", "3000", "--n", "3000", "-o", "array:A")
            run(hotplate, "run", "matmul", "array:A", "array:A", "--transpose-b", "-o", "array:G")
            run(*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), hotplate, "top")
            for n in ("204800", "102400", "51200"):
                run(hotplate, "submit", "integrate2d", "--n", n)
            time.sleep(9)  # eight seconds of history
            shown = subprocess.run([*tmux, "capture-pane", "-e", "-p"], env=environment, check=True, stdout=subprocess.PIPE,
                                   encoding="utf-8").stdout.rstrip("\n").split("\n")
            run(*tmux, "kill-server")
        finally:
            run(hotplate, "down", "--drain-timeout", "0s")
        (out / "top.svg").write_text(svg(["$ hotplate top", *shown]), encoding="utf-8")
        (out / "mandelbrot.png").write_bytes(pathlib.Path(folder, "mandelbrot.png").read_bytes())


if __name__ == "__main__":
    main()
