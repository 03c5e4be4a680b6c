# The README's pipeline with the bundled program: the output that is the same on every machine (-q: a busy one has gaps).
set -eu
sampler -q -o out.bin -f 500 -- "$BUILD/samples/burn" 0.3
prof2pbin out.bin | pbin-aggregate -q >table.txt
grep -c burn_50 table.txt
prof2pbin out.bin | pbin-aggregate -q --format=csv >functions.csv
head -n 1 functions.csv | tr -d '\r'
prof2pbin out.bin | pbin-aggregate -q --format=json | python3 -c '
import json, sys
table = json.load(sys.stdin)
print(sorted(table), [c["name"] for c in table["columns"]])'
pbin-aggregate -o again.csv - <<<"" || echo "status $?"
ls
