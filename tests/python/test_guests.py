"""Guests unpickle nothing that comes from the daemon of somebody else. Without a daemon: what a connection is told of its
record is all that counts."""

import pickle
import types

import hotplate as hp
import pytest
from hotplate import connection, exceptions, functions


class Loaded(Exception):
    """A class that a pickle would make an object of."""


class ResultOfSomebody:
    """A job's result whose value is a pickle."""

    def outputs(self):
        return ["value"]

    def take(self, output):
        raise AssertionError(f"{output} was taken before it was refused")


@pytest.fixture
def connected(monkeypatch):
    """connected(guest): a connection by such a record."""
    monkeypatch.setattr(exceptions, "_guests", [])
    return lambda guest: connection.Connection(types.SimpleNamespace(
        server_name="local", guest=guest, closed=True, close=lambda: None))


def test_a_guest_takes_no_result_of_a_function(connected):
    function = types.SimpleNamespace(_function=len, _said={"returns": "object"})
    with pytest.raises(hp.errors.NotAllowed, match="guest 'ana' of local.*the result of len is a pickle") as caught:
        functions.Function.value(function, connected("ana"), ResultOfSomebody(), None)
    assert isinstance(caught.value, PermissionError)
    with pytest.raises(AssertionError, match="was taken"):
        functions.Function.value(function, connected(""), ResultOfSomebody(), None)


def test_a_guest_calls_no_function(connected):
    function = types.SimpleNamespace(_function=len)
    with pytest.raises(hp.errors.NotAllowed, match="the result of len is a pickle"):
        functions.FunctionCall(connected("ana"), function, {}, None, {}, None)


def test_a_guest_rebuilds_exceptions_by_their_names_alone(connected):
    for error, name in ((Loaded("x"), f"{__name__}.Loaded"), (ValueError("x"), "builtins.ValueError")):
        connected("")
        assert type(exceptions.rebuilt(name, "told", pickle.dumps(error))) is type(error)
    connected("ana")
    assert exceptions.rebuilt(f"{__name__}.Loaded", "told", pickle.dumps(Loaded("x"))) is None
    rebuilt = exceptions.rebuilt("builtins.ValueError", "told", pickle.dumps(ValueError("not told")))
    assert type(rebuilt) is ValueError and rebuilt.args == ("told",)


def test_it_holds_after_the_guests_connection_is_gone(connected):
    connected("ana")
    connected("")
    assert exceptions.was_guest()
