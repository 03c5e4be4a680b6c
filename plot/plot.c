/* The table of kinds.
 * SPDX-License-Identifier: MIT */
#include "plot/plot.h"

#include <string.h>

static const struct plot_kind *const kinds[] = {
    &plot_bars,       &plot_timeline, &plot_compare, &plot_dumbbell, &plot_box, &plot_violin,
    &plot_cumulative, &plot_heatmap,  &plot_scatter, &plot_flame,    &plot_hist};

const struct plot_kind *plot_kind_get(size_t number)
{
    return number < sizeof kinds / sizeof kinds[0] ? kinds[number] : NULL;
}

const struct plot_kind *plot_kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}
