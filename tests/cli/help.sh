# Every tool has -h on one screen of 80 x 40 with examples, options of which --help has all, and says its version.
for tool in sampler prof2pbin sthem2pbin gmon2pbin igprof2pbin pbin2gmon pbin-addr2line pbin-aggregate pbin-annotate pbin-callgraph \
            pbin-compare pbin-dump pbin-plot; do
    $tool -h >help.txt || echo "$tool -h: status $?"
    $tool --help >all.txt || echo "$tool --help: status $?"
    $tool --usage >usage.txt || echo "$tool --usage: status $?"
    [ "$(wc -l <help.txt)" -le 40 ] || echo "$tool -h has $(wc -l <help.txt) lines"
    cat help.txt all.txt usage.txt | grep -E '.{80}'
    grep -oE '^  (-., )?    ?(--[a-z-]+)|^  -.' help.txt | grep -oE -e '-[^ ,]+' | while read -r option; do
        grep -qE "^ .*$option\\>" all.txt || echo "$tool: $option is only in -h"
    done
    grep -oE '\[--?[a-z-]+[]=]' usage.txt | sort | uniq -d
    echo "$tool: $(grep -cE '^ +(sampler|[a-z]+2[a-z]+|pbin-[a-z0-9]+|.*\| *pbin-[a-z]+) ' help.txt) examples"
    $tool --version
done
