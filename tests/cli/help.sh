# Every tool has -h on one screen with three examples, and says its version.
for tool in sampler prof2pbin sthem2pbin gmon2pbin pbin2gmon pbin-aggregate pbin-annotate pbin-callgraph \
            pbin-compare pbin-dump pbin-plot; do
    $tool -h >help.txt || echo "$tool -h: status $?"
    [ $tool = sampler ] || $tool --help | cmp - help.txt # whose -h is shorter
    echo "$tool: $(grep -cE '^ +(sampler|[a-z]+2[a-z]+|pbin-[a-z]+|.*\| *pbin-[a-z]+) ' help.txt) examples"
    $tool --version
done
