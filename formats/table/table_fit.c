/* Fits the columns of a text table to the width of a terminal.
 * SPDX-License-Identifier: MIT */
#include "formats/table/table_fit.h"

#include <string.h>

/* The number of characters at which a text is readable. The last name, which is the most specific
 * one, needs more, as do texts that can be left out, which are phrases. */
enum { READABLE = 10, READABLE_PHRASE = 16, MIN_WIDTH = 6, GAP = 2 };

/* To give the last name this room, columns of this rank or above are left out. */
static const struct {
    size_t room;
    unsigned char rank;
} claims[] = {{30, 45}, {18, 1}};

/* The index of the last name in ORDER; COUNT if no name needs to be shortened. */
static size_t last_name(const struct fit_column *columns, const size_t *order, size_t count)
{
    size_t last = count;
    for (size_t i = 0; i < count; i++)
        if (columns[order[i]].rank == 0 && columns[order[i]].width > READABLE &&
            columns[order[i]].width > columns[order[i]].least)
            last = i;
    return last;
}

/* The width at which a column is readable; that of a number cannot change. */
static size_t readable(const struct fit_column *column, size_t room)
{
    size_t enough = room > 0 ? room : column->rank > 0 ? READABLE_PHRASE : READABLE;
    if (!column->is_text || column->width <= enough)
        return column->width;
    return column->least > enough ? column->least : enough;
}

static size_t needed(const struct fit_column *columns, const size_t *order, size_t count,
                     size_t room)
{
    size_t last = last_name(columns, order, count), sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += readable(&columns[order[i]], i == last ? room : 0) + (i > 0 ? GAP : 0);
    return sum;
}

/* Removes the last column of the largest rank, if that is at least LEAST. Returns whether there was
 * one. */
static bool leave_out(struct fit_column *columns, size_t *order, size_t *count, unsigned char least)
{
    size_t worst = *count;
    for (size_t i = 0; i < *count; i++)
        if (columns[order[i]].rank >= least &&
            (worst == *count || columns[order[i]].rank >= columns[order[worst]].rank))
            worst = i;
    if (worst == *count)
        return false;
    columns[order[worst]].shown = false;
    memmove(order + worst, order + worst + 1, (*count - worst - 1) * sizeof *order);
    --*count;
    return true;
}

/* Gives SPARE characters to texts: to the last name until it is readable in most cases, then to the
 * narrowest texts. */
static void widen(struct fit_column *columns, const size_t *order, size_t count,
                  const size_t *natural, size_t spare)
{
    enum { GENEROUS = 40 };
    size_t last = last_name(columns, order, count);
    for (; last < count && spare > 0 && columns[order[last]].width < natural[last] &&
           columns[order[last]].width < GENEROUS;
         spare--)
        columns[order[last]].width++;
    while (spare > 0) {
        size_t narrowest = count;
        for (size_t i = 0; i < count; i++)
            if (columns[order[i]].width < natural[i] &&
                (narrowest == count || columns[order[i]].width < columns[order[narrowest]].width))
                narrowest = i;
        if (narrowest == count)
            return;
        columns[order[narrowest]].width++;
        spare--;
    }
}

/* Takes up to LACK characters from texts, beginning with the widest. */
static void narrow(struct fit_column *columns, const size_t *order, size_t count, size_t lack)
{
    while (lack > 0) {
        size_t widest = count;
        for (size_t i = 0; i < count; i++) {
            const struct fit_column *column = &columns[order[i]];
            if (column->is_text && column->width > column->least && column->width > MIN_WIDTH &&
                (widest == count || column->width > columns[order[widest]].width))
                widest = i;
        }
        if (widest == count)
            return;
        columns[order[widest]].width--;
        lack--;
    }
}

size_t table_fit(struct fit_column *columns, size_t *order, size_t count, size_t width)
{
    enum { MAX_COLUMNS = 256 };
    enum { CLAIMS = sizeof claims / sizeof claims[0] };
    size_t natural[MAX_COLUMNS], room = claims[CLAIMS - 1].room;
    for (size_t i = 0; i < CLAIMS; i++)
        while (needed(columns, order, count, claims[i].room) > width)
            if (!leave_out(columns, order, &count, claims[i].rank))
                break;
    if (count > MAX_COLUMNS)
        return count;
    size_t last = last_name(columns, order, count), need = needed(columns, order, count, room);
    for (size_t i = 0; i < count; i++) {
        natural[i] = columns[order[i]].width;
        columns[order[i]].width = readable(&columns[order[i]], i == last ? room : 0);
    }
    if (need > width)
        narrow(columns, order, count, need - width);
    else
        widen(columns, order, count, natural, width - need);
    return count;
}
