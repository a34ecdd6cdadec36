"""What daemons that were killed may have left behind: in memory, in files, and as processes."""

import pathlib
import sqlite3
import time

from lives import NAME, PATIENCE, wait_until

# A process that served many clients may keep a few threads and descriptors more than one that served few: gRPC's pool.
MORE_THREADS, MORE_DESCRIPTORS = 8, 8
# Of a daemon that was killed while it claimed job ids. The daemons of a folder do not know of each other's, and remove them
# when they are this old (server/saved/job_ids.cpp).
CLAIM_SECONDS = 3600


def more_than(home, fresh):
    """Waits until the daemon has no more threads and descriptors than a fresh one, and those above; says what it has more."""
    def few():
        return all(now <= before + more for now, before, more in zip(home.counts(), fresh, (MORE_THREADS, MORE_DESCRIPTORS)))
    try:
        wait_until(few, "threads and descriptors went", PATIENCE / 4)
    except AssertionError:
        return [f"(threads, descriptors) {home.counts()}, of a fresh daemon {fresh}"]
    return []


def processes(home):
    try:
        wait_until(lambda: not home.processes(), "all processes ended", PATIENCE / 4)
    except AssertionError:
        return [f"process {pid} is left: {words}" for pid, words in home.processes()]
    return []


def drafts(home):
    """Files that were being written, and belong to nobody."""
    found = []
    for path in home.directory.rglob("*"):
        draft = path.name.endswith((".new", ".part")) or path.name.startswith(".owner-")
        claim = path.parent == home.directory / "jobs" and draft
        if draft and not (claim and time.time() - path.lstat().st_mtime < CLAIM_SECONDS):
            found.append(f"file {path.relative_to(home.directory)} is left")
    return found


def spool(home, jobs):
    """What the spool and the index of a daemon that has ended well say of each other and of these jobs."""
    found = []
    root = home.directory / "saved" / f"{NAME}.jobs"
    indexes = list((home.directory / "journal" / NAME).glob("index-*.sqlite"))
    if len(indexes) != 1:
        return [f"the journal has {len(indexes)} indexes"]
    with sqlite3.connect(f"file:{indexes[0]}?mode=ro", uri=True) as index:
        verdict = index.execute("PRAGMA integrity_check").fetchone()[0]
        rows = index.execute("SELECT number, file, bytes, shared FROM files").fetchall()
        numbers = {str(number) for number, in index.execute("SELECT number FROM jobs WHERE attached=0")}
    if verdict != "ok":
        found.append(f"the index: {verdict}")
    if numbers != jobs:
        more, less = sorted(numbers - jobs, key=int), sorted(jobs - numbers, key=int)
        found.append(f"the index has jobs {more} too many, and lacks {less}")
    for number, file, size, _ in rows:
        path = root / file
        if not path.exists():
            found.append(f"file {file} of job {number} is missing")
        elif path.stat().st_size != size:
            found.append(f"file {file} of job {number} has {path.stat().st_size} bytes, not {size}")
    shared = {pathlib.Path(file).name for _, file, _, is_shared in rows if is_shared}
    found += [f"shared file {path.name} is of no job" for path in (root / "shared").iterdir() if path.name not in shared]
    found += [f"folder jobs/{path.name} is of no job" for path in (root / "jobs").iterdir() if path.name not in numbers]
    return found
