/* Names of clones, names of binaries, moved lines.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "analyze/attribute/clones.h"
#include "analyze/compare/match.h"

static void clones(struct check *check)
{
    static const char *const pairs[][2] = {
        {"work", "work"},
        {"work.constprop.0", "work"},
        {"work.part.12", "work"},
        {"work.isra.0.cold", "work"},
        {"work.cold", "work"},
        {"work.llvm.1234567890", "work"},
        {"work.constprop.0.isra.1.part.2.cold.3", "work"},
        {"f(int) [clone .constprop.0]", "f(int)"},
        {"f.avx2", "f"},
        {"f.arch_x86_64_v4.cold", "f"},
        {"f.default", "f"},
        {"f._omp_fn.0", "f"},
        {"f.__uniq.1234.llvm.5", "f"},
        {"f.defaults", "f.defaults"},
        {"f.resolver", "f.resolver"},
        {".avx2", ".avx2"},
        {"f(int) [clone .part.0] [clone .cold]", "f(int)"},
        {"core::fmt::write::h0123456789abcdef", "core::fmt::write"},
        {"core::fmt::write::h0123456789abcdef.llvm.77", "core::fmt::write"},
        {"core::fmt::write::h0123456789ABCDEF", "core::fmt::write::h0123456789ABCDEF"},
        {"core::fmt::write::h0123456789abcde", "core::fmt::write::h0123456789abcde"},
        {"operator[]", "operator[]"},
        {"work.cold2", "work.cold2"},
        {"work.0", "work.0"},
        {"scold", "scold"},
        {".cold", ".cold"},
        {"::h0123456789abcdef", "::h0123456789abcdef"},
        {"]", "]"},
        {"[clone .cold]", "[clone .cold]"},
        {" [clone .cold]", " [clone .cold]"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char got[80];
        snprintf(got, sizeof got, "%.*s", (int)clone_stem_length(pairs[i][0]), pairs[i][0]);
        CHECK_STR(got, pairs[i][1]);
    }
}

static void binaries(struct check *check)
{
    static const struct binary_map maps[] = {{"old=x", 3, "new"}, {"a", 1, "b"}};
    CHECK_STR(match_binary("old", maps, 2), "new");
    CHECK_STR(match_binary("a", maps, 2), "b");
    CHECK_STR(match_binary("older", maps, 2), "older");
    CHECK_STR(match_binary("ol", maps, 2), "ol");
}

enum { MAX_COUNT = 8 };

/* Lines as text: "10:50 11:30". */
static size_t parse(const char *text, struct line_weight *lines)
{
    size_t count = 0;
    int used;
    while (sscanf(text, "%" SCNu64 ":%lf%n", &lines[count].line, &lines[count].weight, &used) ==
           2) {
        text += used;
        count++;
    }
    return count;
}

static void check_lines(struct check *check, const char *base, const char *other, const char *want)
{
    struct line_weight a[MAX_COUNT], b[MAX_COUNT];
    size_t n = parse(base, a), m = parse(other, b), partner[MAX_COUNT];
    char got[200] = "";
    match_lines(a, n, b, m, partner);
    for (size_t i = 0; i < n; i++) {
        uint64_t line = partner[i] == NO_PARTNER ? 0 : b[partner[i]].line;
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%" PRIu64, i > 0 ? " " : "", line);
    }
    CHECK_STR(got, want);
}

static void lines(struct check *check)
{
    check_lines(check, "10:5 11:3 12:2", "10:5 11:3 12:2", "10 11 12"); /* nothing moved */
    check_lines(check, "10:5 11:3 12:2", "17:5 18:3 19:2", "17 18 19"); /* all moved */
    check_lines(check, "10:5 11:3 14:2", "10:5 11:3 16:2", "10 11 16"); /* two lines came between */
    check_lines(check, "10:5 13:3 14:2", "10:5 11:3 12:2", "10 11 12"); /* two lines went */
    check_lines(check, "10:50 11:1 12:49", "10:50 12:49", "10 0 12");   /* not seen */
    check_lines(check, "10:5 11:3 12:2", "10:3 11:5 12:2",
                "10 11 12"); /* another share does not mean that the line moved */
    check_lines(check, "10:50 11:50", "500:50 501:50", "500 501");
    check_lines(check, "10:5", "", "0");
    check_lines(check, "10:0 11:0", "10:0 11:0", "10 11"); /* energy without time */
    check_lines(check, "5:40 6:20 20:40", "8:40 9:20 10:5 33:40", "8 9 33");
}

CHECK_MAIN({"clones", clones}, {"binaries", binaries}, {"lines", lines})
