/* The themes. Hues follow the set of Okabe and Ito, which colour-blind readers can distinguish.
 * Lightness is adapted to the background, so that every series is visible.
 * SPDX-License-Identifier: MIT */
#include "plot/palette.h"

#include <string.h>

static const struct theme themes[] = {
    {.name = "light",
     .help = "dark on white, for screens",
     .background = "#ffffff",
     .text = "#1f2328",
     .faint = "#59636e",
     .grid = "#dfe3e8",
     .bar = "#0072b2",
     .other = "#a8b0b9",
     .more = "#d55e00",
     .less = "#0072b2",
     .tint = 0.55,
     .series = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a200",
                "#5b4a9e"},
     .heat = "0 '#ffffff', 0.05 '#e3eef7', 0.3 '#8fbfdf', 0.6 '#2f7fb8', 0.85 '#0b3f7a', "
             "1 '#081d40'"},
    {.name = "dark",
     .help = "light on near black, for screens",
     .background = "#16191d",
     .text = "#e8eaed",
     .faint = "#a0a8b1",
     .grid = "#343a41",
     .bar = "#4aa8e0",
     .other = "#6d757e",
     .more = "#f2883a",
     .less = "#4aa8e0",
     .tint = 0.4,
     .series = {"#3d9be0", "#e69f00", "#1fb98b", "#d98bb8", "#8fd0f5", "#f0742e", "#f0e442",
                "#9c8be0"},
     .heat = "0 '#16191d', 0.05 '#1d2b3a', 0.3 '#1f4f7c', 0.6 '#2f92c4', 0.85 '#a5dcec', "
             "1 '#fdfbd8'"},
    {.name = "print",
     .help = "black on white, distinguishable in grey",
     .background = "#ffffff",
     .text = "#000000",
     .faint = "#303030",
     .grid = "#d0d0d0",
     .bar = "#4d4d4d",
     .other = "#c8c8c8",
     .more = "#b04a00",
     .less = "#7fb2d9",
     .tint = 0.55,
     .series = {"#08306b", "#e69f00", "#006d4f", "#cc79a7", "#7fc3ec", "#a84300", "#e8dc50",
                "#4a3d80"},
     .heat = "0 '#ffffff', 0.05 '#eeeeee', 0.5 '#909090', 1 '#000000'"},
};

const struct theme *theme_get(size_t number)
{
    return number < sizeof themes / sizeof themes[0] ? &themes[number] : NULL;
}

const struct theme *theme_find(const char *name)
{
    for (size_t i = 0; theme_get(i) != NULL; i++)
        if (strcmp(themes[i].name, name) == 0)
            return &themes[i];
    return NULL;
}
