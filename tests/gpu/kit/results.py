"""What the kit found: checks and figures, one table at the end, one JSON file that is rewritten after each section."""

import datetime
import json
import os
import pathlib

SCHEMA_VERSION = 1
PASS, FAIL, NOT_RUN = "pass", "fail", "not run"


class Failed(Exception):
    """A check found what must not be."""


class NotRun(Exception):
    """A check could not be made here; the text says why."""


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


class Results:
    """All sections so far. A section is a dict: name, title, seconds, checks; a check: name, status, reason, facts."""

    def __init__(self, out, header):
        self.out = pathlib.Path(out)
        self.header = header
        self.facts = {}
        self.sections = []

    def add(self, section):
        self.sections.append(section)
        self.write()

    def counts(self):
        counts = {PASS: 0, FAIL: 0, NOT_RUN: 0}
        for section in self.sections:
            for check in section["checks"]:
                counts[check["status"]] += 1
        return counts

    def exit_status(self):
        return 1 if self.counts()[FAIL] else 0

    def write(self):
        """Complete or not at all: a reader never sees half a file."""
        self.out.mkdir(parents=True, exist_ok=True)
        counts = self.counts()
        whole = {
            "schema_version": SCHEMA_VERSION, "what": "hotplate gpu kit", **self.header, "written": now(),
            "device": self.facts.get("device"), "driver": self.facts.get("driver"), "cuda": self.facts.get("cuda"),
            "machine": self.facts.get("machine"), "ceilings": self.facts.get("ceilings"),
            "counts": {"pass": counts[PASS], "fail": counts[FAIL], "not_run": counts[NOT_RUN]},
            "exit_status": self.exit_status(), "sections": self.sections,
        }
        draft = self.out / "gpu-kit.json.draft"
        draft.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, self.out / "gpu-kit.json")

    def table(self):
        """One line a check; the reason where it is not a pass."""
        rows = [(section["name"], check["name"], check["status"], note(check))
                for section in self.sections for check in section["checks"]]
        first, second = (max([len(row[i]) for row in rows] + [5]) for i in (0, 1))
        lines = [f"{'SECTION':{first}}  {'CHECK':{second}}  STATUS   "]
        lines += [f"{a:{first}}  {b:{second}}  {status:7}  {text}".rstrip() for a, b, status, text in rows]
        counts = self.counts()
        lines.append(f"{counts[PASS]} passed, {counts[FAIL]} failed, {counts[NOT_RUN]} not run")
        return "\n".join(lines)


def note(check):
    reason = " ".join(str(check.get("reason") or "").split())
    facts = check.get("facts") or {}
    if "measured" in facts:
        text = f"{facts['measured']:.4g} {facts['unit']}"
        if facts.get("goal") is not None:
            text += f" (goal {'>=' if facts['at_least'] else '<='} {facts['goal']:g})"
        reason = text if not reason else f"{text}; {reason}"
    if facts.get("remark"):
        reason = "; ".join(part for part in (reason, facts["remark"]) if part)
    return reason if len(reason) <= 160 else reason[:157] + "..."
