# Every tool has -h on one screen with three examples, and says its version.
for tool in sampler prof2pbin pbin-aggregate pbin-dump; do
    $tool -h >help.txt || echo "$tool -h: status $?"
    $tool --help | cmp - help.txt
    echo "$tool: $(grep -cE '^ +(sampler|prof2pbin|pbin-[a-z]+|.*\| *pbin-[a-z]+) ' help.txt) examples"
    $tool --version
done
