/* A profile in every tool that shows or exports pbin: whole command lines, run in this process. The
 * first byte of the input selects the command.
 *
 * Only gnuplot is left out, which would be a process of its own: it is not found.
 * SPDX-License-Identifier: MIT */
#include <limits.h>

#include "tests/fuzz/input.h"

/* The Makefile gives these names to main. */
int main_pbin_aggregate(int argc, char **argv);
int main_pbin_annotate(int argc, char **argv);
int main_pbin_callgraph(int argc, char **argv);
int main_pbin_compare(int argc, char **argv);
int main_pbin_dump(int argc, char **argv);
int main_pbin_plot(int argc, char **argv);
int main_pbin2gmon(int argc, char **argv);

enum { OPTIONS = 1, HEAD = OPTIONS + 16, MAX_WORDS = 16 };

/* PBIN is the profile, BURN the program of some profiles, SAMPLES the folder of that program. OUT.*
 * are links to /dev/null. */
static const struct {
    int (*run)(int argc, char **argv);
    const char *line;
} commands[] = {
    {main_pbin_aggregate, "pbin-aggregate -j1 -k thread,function,line --ci --wide PBIN"},
    {main_pbin_aggregate, "pbin-aggregate -j1 -k process,binary,file --tree PBIN PBIN"},
    {main_pbin_aggregate, "pbin-aggregate -j2 --mode=add --format=pbin PBIN PBIN"},
    {main_pbin_aggregate, "pbin-aggregate -j1 --format=json --energy-model=thread --top=3 PBIN"},
    {main_pbin_aggregate, "pbin-aggregate -j1 --format=csv --wall-time --kernel=caller PBIN"},
    {main_pbin_aggregate, "pbin-aggregate -j1 --salvage --format=markdown --max-gap=0.01 PBIN"},
    {main_pbin_aggregate, "pbin-aggregate -j1 --format=spreadsheet --energy-model=fit PBIN"},
    {main_pbin_aggregate, "pbin-aggregate -j1 --exclude-external --fractions --start=0.001 PBIN"},
    {main_pbin_compare, "pbin-compare PBIN PBIN"},
    {main_pbin_compare, "pbin-compare --base PBIN PBIN --with PBIN PBIN --format=markdown"},
    {main_pbin_compare,
     "pbin-compare --metric=energy -k line --format=csv --error=relative PBIN PBIN"},
    {main_pbin_compare, "pbin-compare --salvage --format=json --common PBIN PBIN"},
    {main_pbin_dump, "pbin-dump PBIN"},
    {main_pbin_dump, "pbin-dump --raw --format=json PBIN"},
    {main_pbin_dump, "pbin-dump --samples --format=json PBIN"},
    {main_pbin_dump, "pbin-dump --samples --salvage --start=0.002 PBIN"},
    {main_pbin_dump, "pbin-dump --locations --format=csv PBIN"},
    {main_pbin_dump, "pbin-dump --threads PBIN"},
    {main_pbin_dump, "pbin-dump --readings PBIN"},
    {main_pbin_dump, "pbin-dump --sources PBIN"},
    {main_pbin_dump, "pbin-dump --measures PBIN"},
    {main_pbin_dump, "pbin-dump --histograms PBIN"},
    {main_pbin_dump, "pbin-dump --per-thread PBIN"},
    {main_pbin_dump, "pbin-dump --gantt PBIN"},
    {main_pbin_dump, "pbin-dump --info PBIN PBIN"},
    {main_pbin_callgraph, "pbin-callgraph PBIN"},
    {main_pbin_callgraph, "pbin-callgraph --format=json PBIN PBIN"},
    {main_pbin_callgraph, "pbin-callgraph --format=dot -k function PBIN"},
    {main_pbin_annotate, "pbin-annotate -s SAMPLES SOURCES PBIN"},
    {main_pbin_annotate, "pbin-annotate --format=csv -f * --ci PBIN"},
    {main_pbin_annotate, "pbin-annotate --asm -s SAMPLES PBIN"},
    {main_pbin_plot, "pbin-plot bars -o OUT.html PBIN"},
    {main_pbin_plot, "pbin-plot timeline -o OUT.html PBIN"},
    {main_pbin_plot, "pbin-plot heatmap -o OUT.html PBIN"},
    {main_pbin_plot, "pbin-plot flame -o OUT.html -k function,line PBIN"},
    {main_pbin_plot, "pbin-plot scatter -o OUT.svg PBIN"},
    {main_pbin_plot, "pbin-plot cumulative -o OUT.svg PBIN"},
    {main_pbin_plot, "pbin-plot box -o OUT.svg PBIN PBIN"},
    {main_pbin_plot, "pbin-plot compare -o OUT.html PBIN PBIN"},
    {main_pbin_plot, "pbin-plot dumbbell -o OUT.svg PBIN PBIN"},
    {main_pbin2gmon, "pbin2gmon -e BURN PBIN"},
    {main_pbin2gmon, "pbin2gmon --salvage --format=bsd -e BURN PBIN"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* The path of a file of the samples, relative to this program:
 * build/KIND/clang/tests/fuzz/tools. */
static void find(const char *name, char path[PATH_MAX])
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    for (int up = 0; length > 0 && up < 6; length--)
        up += own[length - 1] == '/';
    snprintf(path, PATH_MAX, "%.*s/samples%s", (int)(length > 0 ? length : 0), own, name);
}

/* Divides LINE, a copy of the line of a command, into words. */
static int divide(char *line, char *profile, char *words[MAX_WORDS])
{
    static char burn[PATH_MAX], samples[PATH_MAX], sources[PATH_MAX + 16];
    char *rest = line;
    int count = 0;
    find("/burn", burn);
    find("", samples);
    snprintf(sources, sizeof sources, "--source-path=%s", samples);
    for (char *word; (word = strsep(&rest, " ")) != NULL && count < MAX_WORDS - 2;)
        words[count++] = strcmp(word, "PBIN") == 0      ? profile
                         : strcmp(word, "BURN") == 0    ? burn
                         : strcmp(word, "SAMPLES") == 0 ? samples
                         : strcmp(word, "SOURCES") == 0 ? sources
                                                        : word;
    words[count++] = "-q";
    words[count] = NULL;
    return count;
}

/* Creates the OUT.* links in the current folder, and hides gnuplot. */
static void prepare(void)
{
    static const char *const outs[] = {"OUT.html", "OUT.svg"};
    for (size_t i = 0; i < 2; i++)
        if (access(outs[i], F_OK) != 0 && symlink("/dev/null", outs[i]) != 0)
            abort();
    setenv("PATH", "/nonexistent", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], line[256];
    char *words[MAX_WORDS];
    if (size < OPTIONS || data[0] >= COMMANDS)
        return 0;
    prepare();
    int fd = input_file(data + OPTIONS, size - OPTIONS, path);
    snprintf(line, sizeof line, "%s", commands[data[0]].line);
    int status = commands[data[0]].run(divide(line, path, words), words);
    if (status != 0 && status != 1)
        abort();
    fflush(stdout);
    close(fd);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    if (size > HEAD && seed % 8 == 1)
        data[0] = (uint8_t)(seed / 8 % COMMANDS);
    return input_mutate_blocks(data, HEAD, size, max_size, seed, 32);
}
