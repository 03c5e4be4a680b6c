/* Removes the padding of gnuplot from text pictures.
 * SPDX-License-Identifier: MIT */
#include "plot/text_filter.h"

void text_filter_free(struct text_filter *f)
{
    buffer_free(&f->line);
}

/* Ends a line. Escape sequences in a line without characters have no visible effect, because
 * gnuplot sets the colours of each line. Those after the last character are kept: they end its
 * colour. */
static int end_line(struct text_filter *f)
{
    int result = 0;
    if (f->seen == 0) {
        f->blank++;
    } else {
        for (; f->blank > 0 && result == 0; f->blank--)
            result = output_write(f->out, "\n", 1);
        if (result == 0)
            result = output_write(f->out, f->line.data, f->seen);
        if (result == 0)
            result = output_write(f->out, f->any ? "\033[0m\n" : "\n", f->any ? 5 : 1);
    }
    f->line.size = f->seen = 0;
    f->any = false;
    return result;
}

int text_filter_put(struct text_filter *f, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = data[i];
        if (c == '\n') {
            if (end_line(f) != 0)
                return -1;
            continue;
        }
        if (c == '\f' || c == TEXT_FILLER)
            continue;
        buffer_u8(&f->line, (uint8_t)c);
        f->any |= c == '\033';
        if (c == '\033' || f->escape)
            f->escape = c == '\033' || c == '[' || c == ';' || (c >= '0' && c <= '9');
        else if (c != ' ' && c != '\r')
            f->seen = f->line.size;
    }
    return 0;
}
