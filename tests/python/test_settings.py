"""hp.connect finds a daemon where the command finds one: arguments, then the environment, then the config file."""

import subprocess

import hotplate as hp
import pytest
from conftest import BIN, PATIENCE
from hotplate import settings


@pytest.fixture
def configured(daemon, tmp_path, monkeypatch):
    """configured(text, **variables): a home with this config file, and these variables of the environment alone."""
    def configure(text, **variables):
        for name in ("HOTPLATE_DIR", "HOTPLATE_SERVER", "HOTPLATE_ENDPOINT", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        folder = tmp_path / ".config/hotplate"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(text.replace("DIRECTORY", str(daemon.directory)))
        monkeypatch.setenv("HOME", str(tmp_path))
        (tmp_path / "there").symlink_to(daemon.directory)
        for name, value in variables.items():
            monkeypatch.setenv(name, value.replace("DIRECTORY", str(daemon.directory)))

    return configure


def what_the_command_says():
    done = subprocess.run([BIN / "hotplate", "jobs"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE)
    return done.returncode, done.stderr


@pytest.mark.parametrize("text, variables", [
    ('directory = "DIRECTORY"', {}),
    ('directory = "~/there"', {}),
    ("directory = 'DIRECTORY' # here\nserver = \"local\"\nsite = \"hpc2n\"\naccount = \"a\"\n", {}),
    ('server = "DIRECTORY/servers/local.json"', {}),
    ('directory = "/nowhere"', {"HOTPLATE_DIR": "DIRECTORY"}),
    ('directory = "DIRECTORY"\nserver = "other"', {"HOTPLATE_SERVER": "local"}),
])
def test_the_config_file_is_read_as_the_command_reads_it(configured, text, variables):
    configured(text, **variables)
    assert what_the_command_says()[0] == 0
    with hp.connect() as gpu:
        assert gpu.server == "local"


def test_without_a_home_there_is_none(tmp_path, monkeypatch):
    for name in ("HOTPLATE_DIR", "HOTPLATE_SERVER", "HOTPLATE_ENDPOINT", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".config/hotplate"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("what somebody else has left in the current folder")
    monkeypatch.chdir(tmp_path)
    assert settings.completed("", "", "") == ("", "", "")


def test_arguments_go_before_it(daemon, configured):
    configured('directory = "/nowhere"\nserver = "other"')
    with hp.connect("local", directory=daemon.directory) as gpu:
        assert gpu.server == "local"


@pytest.mark.parametrize("text, kind, says", [
    ('directory = "DIRECTORY"\nserver = "other"', ConnectionError, 'no daemon "other" is running'),
    ('colour = "red"', ValueError, 'config.toml.* no setting "colour"; there are: directory, server, site, account'),
    ("server = 3", ValueError, "config.toml.* server must be a text in quotes"),
    ("server", ValueError, "config.toml"),
])
def test_what_it_says_wrongly_is_refused_by_both(configured, text, kind, says):
    configured(text)
    code, words = what_the_command_says()
    assert code != 0
    with pytest.raises(kind, match=f"(?s){says}") as refused:
        hp.connect()
    if kind is ConnectionError:
        assert str(refused.value) in words


def test_hp_up_connects_where_the_command_started(configured, tmp_path):
    configured('directory = "~/records"')
    with hp.up(local=True, daemon_options=["--device", "cpu"], progress=False) as gpu:
        assert [path.stem for path in (tmp_path / "records/servers").glob("*.json") if path.stem != "current"] == [gpu.server]


@pytest.mark.parametrize("text", ["", "# nothing\n\n", "server='a\\b' # c", 'server = "a\\"#\\u00e9\\\\n"\nsite="b"', 'a-b_1="c"'])
def test_lines_are_read_as_toml_is(text):
    tomllib = pytest.importorskip("tomllib", reason="Python before 3.11")
    assert settings.of_lines(text) == tomllib.loads(text)


@pytest.mark.parametrize("text", ["server", "server = 3", "[table]", 'server = "a" "b"', 'server = "a\\x"', 'a = "b"\na = "c"',
                                  'server = "a'])
def test_a_line_that_is_none_is_refused(text):
    with pytest.raises(ValueError):
        settings.of_lines(text)
