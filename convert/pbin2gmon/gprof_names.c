/* Determines which functions gprof shows, and writes a table of symbols with which it shows all of
 * them:
 *
 *   0000000000015ce0 T _ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$17h4d61d863015b0077E
 *
 * SPDX-License-Identifier: MIT */
#include "convert/pbin2gmon/gprof_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/intern.h"

enum { MAX_LENGTH = 1000 /* bytes of a name: gprof reads up to 1023 */ };

static bool is_hidden(const struct elf_symbol *symbol)
{
    return symbol->is_local && strpbrk(symbol->name, "$.") != NULL;
}

struct gprof_hidden gprof_hidden_find(struct elf_symbols *symbols, const struct address_time *items,
                                      size_t count)
{
    struct gprof_hidden hidden = {0};
    struct numbers seen = {0};
    exact most = 0;
    for (size_t i = 0; i < count; i++) {
        const struct elf_symbol *symbol = elf_symbols_find(symbols, items[i].address);
        if (symbol == NULL || !is_hidden(symbol) || items[i].time <= 0)
            continue;
        numbers_intern(&seen, symbol->address);
        hidden.time += items[i].time;
        if (items[i].time > most) {
            most = items[i].time;
            hidden.name = symbol->name;
        }
    }
    hidden.functions = seen.count;
    numbers_free(&seen);
    return hidden;
}

/* Appends NAME. Blanks would end the field, and become '_'. */
static void put_name(struct buffer *line, const char *name)
{
    for (size_t i = 0; name[i] != '\0' && i < MAX_LENGTH; i++)
        buffer_u8(line, (unsigned char)name[i] <= ' ' ? '_' : (uint8_t)name[i]);
    buffer_u8(line, '\n');
}

int gprof_names_write(struct elf_symbols *symbols, struct output *out)
{
    struct elf_symbol_range range;
    struct buffer line = {0};
    uint64_t at = 0;
    int result = 0;
    while (result == 0 && elf_symbols_next(symbols, at, &range)) {
        const struct elf_symbol *symbol = elf_symbols_find(symbols, range.begin);
        line.size = 0;
        char address[24];
        snprintf(address, sizeof address, "%016" PRIx64 " T ", range.begin);
        buffer_bytes(&line, address, strlen(address));
        put_name(&line, range.name);
        if (symbol == NULL ||
            symbol->address == range.begin) /* not the rest of an interrupted function */
            result = output_write(out, line.data, line.size);
        if (range.last == UINT64_MAX)
            break;
        at = range.last + 1;
    }
    buffer_free(&line);
    return result;
}
