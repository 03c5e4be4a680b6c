/* Rows of text pictures.
 * SPDX-License-Identifier: MIT */
#include "plot/characters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void characters_begin(struct characters *row, const struct frame *frame, double low, double high)
{
    double width = fmax(2, frame->right - frame->left + 1);
    *row = (struct characters){.count = (size_t)width, .low = low, .high = high};
    row->cells = mem_zalloc(row->count + 1, 1);
    memset(row->cells, ' ', row->count);
}

void characters_free(struct characters *row)
{
    free(row->cells);
}

static double cell_of(const struct characters *row, double value)
{
    double cell = (value - row->low) / (row->high - row->low) * (double)(row->count - 1);
    return isnan(cell) ? 0 : round(cell);
}

void characters_fill(struct characters *row, double from, double to, char c)
{
    double first = cell_of(row, fmin(from, to)), last = cell_of(row, fmax(from, to));
    first = fmax(first, 0);
    last = fmin(last, (double)(row->count - 1));
    if (first <= last)
        memset(row->cells + (size_t)first, c, (size_t)last - (size_t)first + 1);
}

void characters_put(struct characters *row, double at, char c)
{
    double cell = cell_of(row, at);
    if (cell >= 0 && cell < (double)row->count)
        row->cells[(size_t)cell] = c;
}

void characters_draw(struct characters *row, struct plot *plot, const struct frame *frame,
                     size_t number)
{
    frame_text(plot, frame->left, frame->top + (double)number, ANCHOR_LEFT,
               plot->script.theme->text, 1, row->cells);
    memset(row->cells, ' ', row->count);
}
