# The output of -h of every tool fits a screen of 80 x 40 (one line is the prompt), with examples. --help shows all of its options.
for tool in sampler prof2pbin sthem2pbin gmon2pbin igprof2pbin perf2pbin gperf2pbin tracerv2pbin memtrace2pbin pbin2gmon pbin-addr2line pbin-aggregate pbin-annotate pbin-callgraph \
            pbin-compare pbin-dump pbin-plot funcmeter; do
    $tool -h >help.txt || echo "$tool -h: status $?"
    $tool --help >all.txt || echo "$tool --help: status $?"
    $tool --usage >usage.txt || echo "$tool --usage: status $?"
    [ "$(wc -l <help.txt)" -le 39 ] || echo "$tool -h has $(wc -l <help.txt) lines"
    cat help.txt all.txt usage.txt | grep -E '.{80}'
    [ "$(grep -o '(' help.txt | wc -l)" = "$(grep -o ')' help.txt | wc -l)" ] || echo "$tool: -h has an open bracket"
    grep -oE '^  (-., )?    ?(--[a-z-]+)|^  -.' help.txt | grep -oE -e '-[^ ,]+' | while read -r option; do
        grep -qE "^ .*$option\\>" all.txt || echo "$tool: $option is only in -h"
    done
    grep -oE '\[--?[a-z-]+[]=[]' usage.txt | sort | uniq -d
    grep -oE -- '--[a-z-]+\[=[A-Z]+\]' all.txt | while read -r option; do
        grep -qF "[$option]" usage.txt || echo "$tool: --usage lacks [$option]"
    done
    echo "$tool: $(grep -cE '^ +(sampler|funcmeter|[a-z]+2[a-z]+|pbin-[a-z0-9]+|.*\| *pbin-[a-z]+) ' help.txt) examples"
    $tool --version
done
