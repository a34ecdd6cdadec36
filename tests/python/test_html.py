"""Tables that a notebook shows: well-formed, of what is there, with texts escaped."""

import xml.etree.ElementTree as xml

import hotplate as hp
import hotplate.html
import numpy as np
import pytest


def cells(html):
    """The texts of a table's cells, row by row: well-formed, and one table."""
    table = xml.fromstring(html)
    assert table.tag == "table"
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")], table.findtext("caption") or ""


def test_a_client_shows_its_daemon(daemon):
    client = daemon.connect()
    rows, caption = cells(client._repr_html_())
    told = dict(rows)
    assert caption == "hotplate.Client of local" and told["version"] == hp.__version__ and told["session"] == client.session
    assert told["devices"].startswith("cpu0: ") and told["state"] == "serving" and told["ends without use"] == "after 900 s"
    assert told["node"] == client.info()["node"] and "job" not in told, "no scheduler's"


def test_a_client_without_a_daemon_shows_that(start_daemon):
    own = start_daemon()
    client = own.connect(deadline=5, retries=0)
    own.kill()
    rows, caption = cells(client._repr_html_())
    assert caption == "hotplate.Client of local" and dict(rows)["state"]
    client.close()
    rows, caption = cells(client._repr_html_())
    assert caption == "hotplate.Client, closed" and "closed" in dict(rows)["state"]


def test_jobs_are_a_table_and_dicts(gpu):
    gpu.selu(np.ones(3), alpha=1.5)
    with pytest.raises(hp.JobFailed):
        gpu.cholesky(-np.eye(3))
    jobs = gpu.jobs()
    rows, _ = cells(jobs._repr_html_())
    assert rows[0] == ["job", "kernel", "state", "device", "submitted", "queued", "kernel time"]
    assert [row[1] for row in rows[1:3]] == ["cholesky", "selu"] and [row[2] for row in rows[1:3]] == ["failed", "completed"]
    assert isinstance(jobs, list) and isinstance(jobs[0], dict) and len(rows) == 1 + len(jobs)
    rows, caption = cells(gpu.job(jobs[1]["id"])._repr_html_())
    assert caption == f"job {jobs[1]['id']}: selu"
    assert dict(rows)["alpha"] == "1.5" and dict(rows)["state"] == "completed" and dict(rows)["device"] == "cpu0"
    assert "not positive definite" in dict(cells(jobs[0]._repr_html_())[0])["error"]


def test_a_job_that_has_not_ended_is_a_table_too(gpu):
    job_id = gpu.submit_detached("integrate2d", n=10_000_000)
    told = dict(cells(gpu.job(job_id)._repr_html_())[0])
    assert told["ended"] == "–" and told["kernel time"] == "–"
    assert cells(gpu.cancel(int(job_id))._repr_html_())[1] == f"job {job_id}: integrate2d"


def test_a_sample_is_a_table(gpu):
    sample = next(gpu.telemetry(0.1))
    rows, caption = cells(sample._repr_html_())
    assert rows[0] == ["device", "busy", "memory", "power", "temperature", "jobs"] and rows[1][0] == "cpu0"
    assert rows[1][3] == "–", "what is not measured is a dash"
    assert "running" in caption and "of arrays" in caption


def test_texts_are_escaped():
    html = hp.html.table([("a<b", "<i>&")], ("x", "'"), caption="1 < 2")
    assert "<i>" not in html and cells(html) == ([["x", "'"], ["a<b", "<i>&"]], "1 < 2")
