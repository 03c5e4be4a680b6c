/* Suggestions for misspelt names.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "base/similar.h"

static const char *const names[] = {"main",
                                    "mats<double, 4>::multiply(double const*) const",
                                    "void mats<int>(int)",
                                    "compute_forces",
                                    "ns::Solver::step(int)",
                                    "operator new(unsigned long)",
                                    "a",
                                    ""};

static const char *suggestion(const char *wanted)
{
    struct similar similar = {.wanted = wanted};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        similar_try(&similar, names[i]);
    return similar.best != NULL ? similar.best : "";
}

static void likely_slips(struct check *check)
{
    CHECK_STR(suggestion("mian"), "main");
    CHECK_STR(suggestion("Main"), "main");
    CHECK_STR(suggestion("mats"), "void mats<int>(int)");
    CHECK_STR(suggestion("multipyl"), names[1]);
    CHECK_STR(suggestion("compute_force"), "compute_forces");
    CHECK_STR(suggestion("forces"), "compute_forces");
    CHECK_STR(suggestion("step"), "ns::Solver::step(int)");
    CHECK_STR(suggestion("solver::step"), "ns::Solver::step(int)");
    CHECK_STR(suggestion("compute_focres*"), "compute_forces");
}

static void nothing_similar(struct check *check)
{
    CHECK_STR(suggestion("unrelated"), "");
    CHECK_STR(suggestion("xy"), "");
    CHECK_STR(suggestion(""), "");
    CHECK_STR(suggestion("*"), "");
}

static void long_names(struct check *check)
{
    static char name[100001];
    memset(name, 'x', sizeof name - 1);
    struct similar similar = {.wanted = "work"};
    similar_try(&similar, name);
    CHECK(similar.best == NULL);
    similar.wanted = name;
    similar_try(&similar, "work");
    CHECK(similar.best == NULL);
    char *text = similar_text(&similar);
    CHECK_STR(text, "");
    free(text);
    similar = (struct similar){.wanted = "xxxx"};
    similar_try(&similar, name);
    text = similar_text(&similar);
    CHECK(strlen(text) < 300);
    free(text);
}

CHECK_MAIN({"likely_slips", likely_slips}, {"nothing_similar", nothing_similar},
           {"long_names", long_names})
