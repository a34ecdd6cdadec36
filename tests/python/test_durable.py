"""Arrays that outlive their daemon."""

import numpy as np
import pytest

import hotplate as hp
from conftest import Daemon


@pytest.fixture
def journal():
    running = Daemon()
    yield running
    running.stop()


def test_a_durable_array_is_in_a_file(journal):
    values = np.arange(1000.0)
    with journal.connect() as gpu:
        A = gpu.array(values, name="A", lease="2h")
        file = A.make_durable()
    np.testing.assert_array_equal(np.load(file), values)


def test_what_cannot_be_durable_is_refused(journal):
    with journal.connect() as gpu:
        with pytest.raises(hp.errors.Busy, match="has no name"):
            gpu.array(np.ones(3)).make_durable()
        with pytest.raises(hp.errors.Busy, match="array A has no lease"):
            gpu.array(np.ones(3), name="A").make_durable()
        B = gpu.array(np.ones(3), name="B", lease=60)
        with pytest.raises(ValueError, match="view"):
            B[1:].make_durable()
        B.free()
        with pytest.raises(KeyError):
            B.make_durable()


def test_without_a_journal_there_is_nothing_to_have_it_from():
    running = Daemon("--journal", "off")
    try:
        with running.connect() as gpu:
            with pytest.raises(hp.errors.Busy, match="keeps no journal"):
                gpu.array(np.ones(3), name="A", lease=60).make_durable()
    finally:
        running.stop()
