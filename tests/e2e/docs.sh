#!/bin/bash
# What docs/troubleshooting.md quotes is what the programs say.
set -euo pipefail
cd "$(dirname "$0")/../.."

# all literals of the sources, without the line breaks and the places for values inside of them
sources=$(mktemp)
trap 'rm -f "$sources"' EXIT
find modules crates inventory -name '*.rs' -not -path '*/tests/*' -exec cat {} + |
    python3 -c 'import re, sys; print(re.sub(r"\\\n\s*", "", sys.stdin.read()))' >"$sources"
python3 - "$sources" docs/troubleshooting.md <<'PYTHON'
import re, sys
sources, page = (open(path).read() for path in sys.argv[1:])
# {name}, {} and the like stand for what the page writes in capitals
sources = re.sub(r"\{[\w.:?#]*\}", "\0", sources)
quoted = re.findall(r"^\| `([^`]+)` \|", page, re.M)
missing = []
for text in quoted:
    if text.startswith("couldn't resolve"):
        continue  # Ansible's own
    pattern = r"[\0\w./]+".join(re.escape(part) for part in re.split(r"\b[A-Z]{4,}\b", text))
    if not re.search(pattern, sources):
        missing.append(text)
print(f"{len(quoted)} texts quoted")
sys.exit("\n".join(f"nothing says: {text}" for text in missing) if missing or len(quoted) < 15 else 0)
PYTHON
