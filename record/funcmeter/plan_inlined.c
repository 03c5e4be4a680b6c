/* Refuses functions without separate code.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"
#include "record/funcmeter/inlined.h"
#include "record/funcmeter/planner_internal.h"

/* The search for these functions in a file. */
struct search {
    struct choice choice;
    bool all;
    unsigned warnings;
};

/* Returns whether a pattern chooses the function NAME. Unless ALL are sought, only patterns without
 * other functions count. */
static bool is_sought(const struct search *s, const char *name, const char *readable)
{
    const struct meter_patterns *patterns = s->choice.planner->patterns;
    for (size_t i = 0; i < patterns->count; i++) {
        const struct meter_pattern *p = &patterns->items[i];
        if ((s->all || p->functions == 0) &&
            meter_pattern_has_file(p, s->choice.path, s->choice.alias) &&
            (meter_pattern_has_name(p, name) || meter_pattern_has_name(p, readable)))
            return true;
    }
    return false;
}

static void refuse_inlined(void *opaque, const char *name, uint64_t places)
{
    enum { WARNINGS = 10 };
    struct search *s = opaque;
    struct reporter *reporter = s->choice.planner->reporter;
    char *readable = meter_readable_name(name);
    if (is_sought(s, name, readable)) {
        char *why = mem_printf("only inlined (%" PRIu64 " place%s), cannot be hooked", places,
                               places == 1 ? "" : "s");
        plan_refuse(&s->choice, readable, why);
        if (!s->all && s->warnings++ < WARNINGS)
            report_warning(reporter, "%s: %s: %s", elf_base_name(s->choice.path), readable, why);
        free(why);
    }
    free(readable);
}

void planner_find_inlined(struct planner *planner, bool all)
{
    struct search s = {.choice = {.planner = planner}, .all = all};
    for (size_t i = 0; i < planner->module_count; i++) {
        bool needed = false;
        s.choice.path = planner->modules[i].path;
        s.choice.alias = i == 0 ? planner->command : NULL;
        for (size_t k = 0; k < planner->patterns->count; k++) {
            const struct meter_pattern *p = &planner->patterns->items[k];
            needed = needed || ((all || p->functions == 0) &&
                                meter_pattern_has_file(p, s.choice.path, s.choice.alias));
        }
        if (needed)
            inlined_read(s.choice.path, refuse_inlined, &s);
    }
}
