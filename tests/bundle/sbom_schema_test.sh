#!/usr/bin/env bash
# Whether lists of libraries are CycloneDX 1.6, by CycloneDX's own validator, and whether that sees a list that is not.
#   usage: tests/bundle/sbom_schema_test.sh [FILE...]       without FILE, of a list that deploy/sbom.py writes here
# Where PyPI cannot be reached, it says so and exits with 77 (skipped).
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "sbom_schema_test: SKIPPED: $*" >&2; exit 77; }

if [ $# -eq 0 ]; then
  # shellcheck source=deploy/linked_libraries.sh
  . deploy/linked_libraries.sh
  words=(--other "cudart@13.0.88@NVIDIA CUDA Toolkit EULA")
  while read -r path; do words+=(--linked "$path"); done < <(linked_archives)
  for package in "${command_headers[@]}" "${daemon_headers[@]}"; do words+=(--package "$package"); done
  library=$(gcc -print-file-name=libstdc++.so.6)
  cp "$library" "$work/libstdc++.so.6"
  SOURCE_DATE_EPOCH=$(source_date) deploy/sbom.py --name hotplate --version 0.1.0 --revision abc --tree "$work" \
    --file "libstdc++.so.6=$library" "${words[@]}" -o "$work/sbom.cdx.json"
  set -- "$work/sbom.cdx.json"
fi

/usr/bin/python3 -c 'import ensurepip' 2>/dev/null || skip "there is no venv (deploy/install-deps.sh --tests installs it)"
/usr/bin/python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check 'cyclonedx-python-lib[json-validation]>=8' >"$work/log" 2>&1 ||
  skip "pip cannot get the validator: $(grep -m1 '^ERROR' "$work/log" || tail -n 1 "$work/log")"
"$work/venv/bin/python" - "$@" <<'PYTHON'
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

validator = JsonStrictValidator(SchemaVersion.V1_6)
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    error = validator.validate_str(text)
    assert error is None, f"{path}: {error}"
    bill = json.loads(text)
    for breaks in ({"serialNumber": "1"}, {"components": [{"name": "without a type"}]}, {"more": 1}):
        assert validator.validate_str(json.dumps({**bill, **breaks})) is not None, f"{breaks} is not seen"
    print(f"{path}: {len(bill['components'])} components, as CycloneDX {bill['specVersion']} has them")
PYTHON
