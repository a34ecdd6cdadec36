"""The command's config file, which names a daemon if nothing else does."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from .errors import InvalidCall

_KEYS = ("directory", "server", "site", "account")
_LINE = re.compile(r"""([A-Za-z0-9_-]+)\s*=\s*("(?:[^"\\\x00-\x1f]|\\.)*"|'[^'\x00-\x1f]*')\s*(?:#.*)?""")


def completed(server: str, endpoint: str, directory: str) -> tuple[str, str, str]:
    """Server, endpoint and directory, as in the command: the arguments, else the environment, else the config file.

    Raises:
        ValueError: a config file that the command would refuse too.
    """
    config = _config()
    if not directory and not os.environ.get("HOTPLATE_DIR"):
        directory = _path(config.get("directory", ""))
    if not server and not os.environ.get("HOTPLATE_SERVER") and config.get("server"):
        # The environment's endpoint belongs to the default daemon, not to one named in a call.
        endpoint = endpoint or os.environ.get("HOTPLATE_ENDPOINT", "")
        server = _path(config["server"])
    return server, endpoint, directory


def _path(text: str) -> str:
    home = os.environ.get("HOME")
    return home + text[1:] if home and text.startswith("~/") else text


def _config() -> dict[str, str]:
    home = os.environ.get("HOME")
    folder = os.environ.get("XDG_CONFIG_HOME") or (home and os.path.join(home, ".config"))
    path = folder and os.path.join(folder, "hotplate", "config.toml")  # never relative to the current folder
    if not path or not os.path.exists(path):
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            settings = parsed(file.read())
    except (OSError, ValueError) as error:
        raise InvalidCall(f"{path}: {error}") from None
    for key, value in settings.items():
        if key not in _KEYS:
            raise InvalidCall(f'{path}: no setting "{key}"; there are: {", ".join(_KEYS)}')
        if not isinstance(value, str):
            raise InvalidCall(f"{path}: {key} must be a text in quotes")
    return settings


def parsed(text: str) -> dict[str, Any]:
    """Parses TOML. In Python 3.9 and 3.10 only lines with a key and a text, the form of the command's settings.

    Raises:
        ValueError: it is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib.loads(text)
    return of_lines(text)


def of_lines(text: str) -> dict[str, Any]:
    """Parses lines of the form `key = "text"`.

    Raises:
        ValueError: anything else.
    """
    settings: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        setting = _LINE.fullmatch(line)
        if setting is None or setting[1] in settings:
            raise ValueError(f'line {number} is no setting key = "text": {line}')
        quoted = setting[2]
        settings[setting[1]] = quoted[1:-1] if quoted[0] == "'" else json.loads(quoted)
    return settings
