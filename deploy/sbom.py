#!/usr/bin/env python3
"""Writes which libraries of Debian's packages are in a program that is handed on: a software bill of materials in CycloneDX 1.6.

A component for each package, with its version, its source, its licences and its files. What dpkg does not know is an error: a
list that leaves something out is worse than none. The same files give the same list, byte for byte. Its time is
SOURCE_DATE_EPOCH, and is left out without one.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

DEP5 = re.compile(r"^Format: *https?://(?:www\.)?debian\.org/doc/packaging-manuals/copyright-format/", re.IGNORECASE)
PARAGRAPH = re.compile(r"\n[ \t]*\n")
SPDX = {  # Debian's names of licences: SPDX's
    "Apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0", "Apache-2": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause",
    "BSD-3-clause": "BSD-3-Clause", "BSL-1.0": "BSL-1.0", "Expat": "MIT", "expat": "MIT", "MIT": "MIT", "GPL-1+": "GPL-1.0-or-later",
    "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later", "GPL-2.0+": "GPL-2.0-or-later", "GPL-3": "GPL-3.0-only",
    "GPL-3+": "GPL-3.0-or-later", "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-3+": "LGPL-3.0-or-later", "ISC": "ISC",
    "MPL-2.0": "MPL-2.0", "Zlib": "Zlib", "zlib": "Zlib", "CC0-1.0": "CC0-1.0", "libpng": "Libpng",
}


def digest(path):
    """The SHA-256 of a file."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def places(path):
    """The names by which dpkg may know a file: /lib is a link to /usr/lib, and packages say either."""
    real = os.path.realpath(path)
    return [real, real.removeprefix("/usr"), "/usr" + real]


def packages_of(paths):
    """Path -> the package that it comes from, "zlib1g:amd64"."""
    asked = sorted({place for path in paths for place in places(path)})
    if not asked:
        return {}
    said = subprocess.run(["dpkg-query", "-S", *asked], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    owners = {}
    for line in said.splitlines():
        packages, _, place = line.rpartition(": ")
        if not packages.startswith("diversion "):
            owners[place] = packages.split(", ")[0]
    found = {path: next((owners[place] for place in places(path) if place in owners), None) for path in paths}
    if unknown := sorted(path for path, package in found.items() if package is None):
        sys.exit(f"sbom.py: no package has {', '.join(unknown)}")
    return found


def facts_of(packages):
    """Package, as dpkg names it -> its fields."""
    fields = ("binary:Package", "Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage")
    facts = {}
    for package in packages:
        done = subprocess.run(["dpkg-query", "-W", "-f", "\t".join(f"${{{field}}}" for field in fields) + "\n", package],
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0 or not done.stdout:
            sys.exit(f"sbom.py: dpkg has no package {package}")
        facts[package] = dict(zip(fields, done.stdout.splitlines()[0].split("\t")))
    return facts


def licences(copyright_text):
    """Debian's names of the licences of a package's source, but not those of its packaging; [] where the text is not
    machine-readable."""
    if not DEP5.match(copyright_text):
        return []
    names = set()
    for paragraph in PARAGRAPH.split(copyright_text):
        files = re.search(r"^Files:(.*(?:\n[ \t].*)*)", paragraph, re.MULTILINE)
        licence = re.search(r"^License:[ \t]*(\S.*)$", paragraph, re.MULTILINE)
        if files and licence and any(not one.startswith("debian/") for one in files.group(1).split()):
            names.add(" ".join(licence.group(1).split()))
    return sorted(names)


def licence_entries(package):
    """CycloneDX's form of the package's licences."""
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    chosen = {json.dumps({"id": SPDX[name]} if name in SPDX else {"name": name}) for name in licences(text)}
    return [{"license": json.loads(one)} for one in sorted(chosen)]


def distribution():
    """("debian", "debian-12") of this machine."""
    fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.MULTILINE))
    return fields["ID"], f"{fields['ID']}-{fields.get('VERSION_ID', 'unstable')}"


def package_url(facts):
    """pkg:deb/debian/zlib1g@1:1.2.13.dfsg-1?arch=amd64&distro=debian-12"""
    vendor, distro = distribution()
    name, version = (urllib.parse.quote(facts[field], safe=":~.-_") for field in ("Package", "Version"))
    return f"pkg:deb/{vendor}/{name}@{version}?arch={facts['Architecture']}&distro={distro}"


def file_component(name, path, how):
    return {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": digest(path)}],
            "properties": [{"name": "hotplate:how", "value": how}]}


def package_component(facts, files):
    """`files`: components of type file; [] where only headers are compiled in."""
    url = package_url(facts)
    component = {"type": "library", "bom-ref": url, "name": facts["Package"], "version": facts["Version"], "purl": url}
    if found := licence_entries(facts["Package"]):
        component["licenses"] = found
    if facts["Homepage"]:
        component["externalReferences"] = [{"type": "website", "url": facts["Homepage"]}]
    component["properties"] = [
        {"name": "hotplate:how", "value": ", ".join(sorted({file["properties"][0]["value"] for file in files}) or ["headers"])},
        {"name": "hotplate:source", "value": f"{facts['source:Package']} {facts['source:Version']}"}]
    if files:
        component["components"] = sorted(files, key=lambda file: file["name"])
    return component


def other_component(words):
    """NAME@VERSION@LICENCE, of what is from no package."""
    name, version, licence = words.split("@")
    return {"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version,
            "licenses": [{"license": {"name": licence}}], "properties": [{"name": "hotplate:how", "value": "linked"}]}


def bill(arguments):
    """The whole document."""
    packed = [one.partition("=")[::2] for one in arguments.file]  # (path in the tree, where it comes from)
    linked = sorted(set(arguments.linked))
    owners = packages_of([source for _, source in packed] + linked)
    files = {}
    for path, source in packed:
        files.setdefault(owners[source], []).append(file_component(path, pathlib.Path(arguments.tree, path), "packed"))
    for path in linked:
        files.setdefault(owners[path], []).append(file_component(pathlib.Path(path).name, path, "linked"))
    facts = facts_of([*files, *arguments.package])
    # One of which headers and an archive are used is named twice, once without its architecture.
    by_name = {fields["binary:Package"]: fields for fields in facts.values()}
    libraries = [package_component(fields, files.get(name, [])) for name, fields in by_name.items()]
    components = sorted([*libraries, *map(other_component, sorted(set(arguments.other)))], key=lambda one: one["bom-ref"])
    own = f"{arguments.name}@{arguments.version}"
    metadata = {
        "tools": {"components": [{"type": "application", "name": "sbom.py", "version": arguments.version}]},
        "component": {"type": "application", "bom-ref": own, "name": arguments.name, "version": arguments.version,
                      "licenses": [{"license": {"id": "Apache-2.0"}}]}}
    if arguments.revision:
        metadata["component"]["properties"] = [{"name": "hotplate:revision", "value": arguments.revision}]
    if os.environ.get("SOURCE_DATE_EPOCH"):
        when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
        metadata = {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"), **metadata}
    document = {
        "metadata": metadata, "components": components,
        "dependencies": [{"ref": own, "dependsOn": [one["bom-ref"] for one in components]},
                         *({"ref": one["bom-ref"]} for one in components)]}
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
            "serialNumber": f"urn:uuid:{number}", "version": 1, **document}


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="of the program that is handed on")
    parser.add_argument("--version", required=True, help="its version")
    parser.add_argument("--revision", default="", help="the commit that it is built from")
    parser.add_argument("--tree", default=".", help="the folder of --file's paths")
    parser.add_argument("--file", action="append", default=[], metavar="PATH=SOURCE",
                        help="PATH in the tree is a library that was copied from SOURCE (and stripped); repeatable")
    parser.add_argument("--linked", action="append", default=[], metavar="ARCHIVE", help="a static library linked in; repeatable")
    parser.add_argument("--package", action="append", default=[], help="a package whose headers are compiled in; repeatable")
    parser.add_argument("--other", action="append", default=[], metavar="NAME@VERSION@LICENCE",
                        help="linked in, and from no package; repeatable")
    parser.add_argument("--output", "-o", required=True, help="the file to write")
    arguments = parser.parse_args(words)
    for one in arguments.file:
        if "=" not in one:
            parser.error(f"--file {one}: there is no =SOURCE")
    for one in arguments.other:
        if one.count("@") != 2:
            parser.error(f"--other {one}: it is not NAME@VERSION@LICENCE")
    pathlib.Path(arguments.output).write_text(json.dumps(bill(arguments), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
