/* Prints addresses as addr2line of binutils does:
 *
 *   [0x0000000000001234 | with -p: ": "]     -a
 *   name [with -p: " at "]                   -f
 *   path/file.c:31 [" (discriminator 2)"] ... the same for each caller with -i,
 *                                             after " (inlined by) " with -p
 *
 * SPDX-License-Identifier: MIT */
#include "convert/addr2line/addr2line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/transfer.h"
#include "base/utf8.h"

/* Large enough for reading debug information, naming and printing to overlap. */
enum { MAX_INPUT = 1 << 20, MAX_BATCH = 1 << 16, MAX_TEXT = 1 << 20 };

bool addr2line_parse(const char *text, size_t length, uint64_t *address)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t value = 0;
    if (length > 2 && text[0] == '0' && (text[1] | 32) == 'x') {
        text += 2;
        length -= 2;
    }
    for (size_t i = 0; i < length; i++) {
        const char *digit = text[i] != '\0' ? strchr(digits, text[i] | 32) : NULL;
        if (digit == NULL || value >> 60 != 0)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *address = value;
    return length > 0;
}

static bool is_unknown(const struct code_frame *frame)
{
    return strcmp(frame->function, LABEL_UNKNOWN) == 0 ||
           strcmp(frame->function, LABEL_FOREIGN) == 0;
}

const char *addr2line_function(const struct addr2line *a, const struct code_frame *frame)
{
    if (is_unknown(frame))
        return "??";
    return a->format.demangle ? frame->demangled : frame->function;
}

const char *addr2line_file(const struct addr2line *a, const struct code_frame *frame)
{
    const char *slash = a->format.base_names ? strrchr(frame->file, '/') : NULL;
    return frame->file[0] == '\0' ? "??" : slash != NULL ? slash + 1 : frame->file;
}

int addr2line_write(struct addr2line *a, const void *data, size_t size)
{
    if (a->out != NULL)
        return output_write(a->out, data, size);
    if (write_all(STDOUT_FILENO, data, size))
        return 0;
    a->err->closed_pipe = errno == EPIPE;
    return error_set_errno(a->err, "<stdout>", errno, "cannot write");
}

/* Appends TEXT. There are millions of lines: printf would take a tenth of the time. */
static void put(struct buffer *to, const char *text)
{
    buffer_bytes(to, text, strlen(text));
}

/* Appends VALUE in BASE 10 or 16, with leading zeros if it has fewer than DIGITS. */
static void put_number(struct buffer *to, uint64_t value, unsigned base, size_t digits)
{
    char text[20], *at = text + sizeof text;
    for (; value > 0 || (size_t)(text + sizeof text - at) < digits; value /= base)
        *--at = "0123456789abcdef"[value % base];
    buffer_bytes(to, at, (size_t)(text + sizeof text - at));
}

/* Returns whether all LENGTH bytes of TEXT are printable ASCII, as in most names. */
static bool is_plain(const char *text, size_t length)
{
    bool plain = true;
    for (size_t i = 0; i < length; i++)
        plain &= (unsigned char)(text[i] - ' ') <= '~' - ' ';
    return plain;
}

void addr2line_put_name(struct buffer *to, const char *name)
{
    const size_t length = strlen(name);
    char *visible = is_plain(name, length) ? NULL : utf8_visible(name, NULL);
    buffer_bytes(to, visible != NULL ? visible : name, visible != NULL ? strlen(visible) : length);
    free(visible);
}

/* Appends a frame. Callers also get the DISCRIMINATOR of the innermost frame. */
static void put_frame(const struct addr2line *a, const struct code_frame *frame, bool nothing,
                      uint32_t discriminator, struct buffer *to)
{
    if (a->format.functions) {
        addr2line_put_name(to, addr2line_function(a, frame));
        put(to, !a->format.pretty ? "\n" : nothing ? " " : " at ");
    }
    addr2line_put_name(to, addr2line_file(a, frame));
    put(to, ":");
    if (frame->line > 0)
        put_number(to, frame->line, 10, 1);
    else
        put(to, nothing ? "0" : "?");
    if (frame->line > 0 && discriminator > 0) {
        put(to, " (discriminator ");
        put_number(to, discriminator, 10, 1);
        put(to, ")");
    }
    put(to, "\n");
}

static void put_location(const struct addr2line *a, const struct code_location *l, uint64_t address,
                         struct buffer *to)
{
    const struct code_frame *outer = &l->frames[l->frame_count - 1];
    bool nothing = l->frame_count == 1 && is_unknown(outer) && outer->file[0] == '\0';
    if (a->format.addresses) {
        put(to, "0x");
        put_number(to, address, 16, a->is_64 ? 16 : 8);
        put(to, a->format.pretty ? ": " : "\n");
    }
    for (size_t i = 0; i < (a->format.inlines ? l->frame_count : 1); i++) {
        if (i > 0 && a->format.pretty)
            put(to, " (inlined by) ");
        put_frame(a, &l->frames[i], nothing, l->frames[0].discriminator, to);
    }
}

static int put_batch(struct addr2line *a, const uint64_t *addresses, size_t count)
{
    struct buffer text = {0};
    struct code_location *found = mem_alloc(count * sizeof *found);
    uint64_t *places = mem_alloc(count * sizeof *places);
    for (size_t i = 0; i < count; i++)
        places[i] = addresses[i] + a->base;
    symbolizer_resolve(a->symbolizer, places, count, found);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        put_location(a, &found[i], addresses[i], &text);
        if (text.size < MAX_TEXT && i + 1 < count)
            continue;
        result = addr2line_write(a, text.data, text.size);
        text.size = 0;
    }
    buffer_free(&text);
    free(places);
    free(found);
    return result;
}

int addr2line_put(struct addr2line *a, const uint64_t *addresses, size_t count)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i += MAX_BATCH)
        result = put_batch(a, addresses + i, count - i < MAX_BATCH ? count - i : MAX_BATCH);
    return result;
}

struct list {
    uint64_t *items;
    size_t count, capacity;
};

static void add_line(struct addr2line *a, struct list *list, const char *text, size_t length)
{
    uint64_t address = 0;
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL)
        length--;
    while (length > 0 && strchr(" \t", *text) != NULL) {
        text++;
        length--;
    }
    a->strange += !addr2line_parse(text, length, &address);
    *MEM_APPEND(list->items, list->count, list->capacity) = address;
}

/* Adds the complete lines in the HAVE bytes at TEXT. Returns their size [bytes]. */
static size_t take_lines(struct addr2line *a, struct list *list, const char *text, size_t have)
{
    size_t taken = 0;
    for (const char *end; (end = memchr(text + taken, '\n', have - taken)) != NULL;) {
        size_t length = (size_t)(end - (text + taken));
        add_line(a, list, text + taken, length);
        taken += length + 1;
    }
    return taken;
}

int addr2line_lines(struct addr2line *a, int fd, struct error *err)
{
    char *text = mem_alloc(MAX_INPUT);
    struct list list = {0};
    size_t have = 0;
    int result = 0;
    for (bool more = true; more && result == 0;) {
        ssize_t got = read(fd, text + have, MAX_INPUT - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            result = error_set_errno(err, "<stdin>", errno, "cannot read");
        more = got > 0;
        have += got > 0 ? (size_t)got : 0;
        size_t taken = take_lines(a, &list, text, have);
        if (taken == 0 && (have == MAX_INPUT || (!more && have > 0))) {
            add_line(a, &list, text, have); /* too long, or the last line without its end */
            taken = have;
        }
        memmove(text, text + taken, have - taken);
        have -= taken;
        if (result == 0)
            result = addr2line_put(a, list.items, list.count);
        list.count = 0;
    }
    free(list.items);
    free(text);
    return result;
}
