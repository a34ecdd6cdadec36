"""Prints here what functions print on the daemon's node."""

from __future__ import annotations

import codecs
import sys


class Printer:
    """Takes the pieces of one call's two streams, which may end in the middle of a letter."""

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = (decoder("replace"), decoder("replace"))

    def __call__(self, piece: bytes, is_error: bool) -> None:
        text = self._decoders[is_error].decode(piece)
        # Looked up now, as print does: a notebook or contextlib.redirect_stdout may have put another stream there.
        stream = sys.stderr if is_error else sys.stdout
        if stream is not None and text:
            stream.write(text)
            stream.flush()
