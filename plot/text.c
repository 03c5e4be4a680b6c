/* Fits names and numbers to pictures.
 * SPDX-License-Identifier: MIT */
#include "plot/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elide.h"
#include "base/memory.h"
#include "base/utf8.h"

/* Returns the advance width of an ASCII character in DejaVu Sans, rounded up [em]. */
static double ascii_width(char c)
{
    if (strchr("ijl'", c) != NULL)
        return 0.28;
    if (strchr(" .,/\\:;|", c) != NULL)
        return 0.34;
    if (strchr("()[]ftrI!\"-", c) != NULL)
        return 0.42;
    if (strchr("mwMW@%", c) != NULL)
        return 0.98;
    if (strchr("+=<>#~^&", c) != NULL)
        return 0.84;
    if (c >= 'A' && c <= 'Z')
        return 0.72;
    return c == '_' || c == '*' ? 0.5 : 0.63;
}

/* Returns whether a character is as wide as it is high: East Asian scripts, pictographs. */
static bool is_wide(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    if (length == 4)
        return true;
    unsigned code = length == 3 ? (c[0] & 15U) << 12 | (c[1] & 63U) << 6 | (c[2] & 63U) : 0;
    return code >= 0x1100 && (code < 0x2000 || code >= 0x2e80) && (code < 0x1e00 || code > 0x1fff);
}

static double character_width(const char *text, size_t length, bool cells)
{
    if (cells)
        return (double)utf8_columns(text, length);
    return length == 1 ? ascii_width(*text) : is_wide(text, length) ? 1.1 : 0.8;
}

static size_t step(const char *text)
{
    size_t length = utf8_length(text);
    return length > 0 ? length : 1;
}

double text_width(const char *text, bool cells)
{
    double width = 0;
    for (size_t length; *text != '\0'; text += length) {
        length = step(text);
        width += character_width(text, length, cells);
    }
    return width;
}

/* Returns the number of bytes at the beginning of TEXT that fit in WIDTH. */
static size_t head_length(const char *text, double width, bool cells)
{
    size_t at = 0;
    while (text[at] != '\0') {
        size_t length = step(text + at);
        width -= character_width(text + at, length, cells);
        if (width < 0)
            break;
        at += length;
    }
    return at;
}

/* Returns the beginning of the longest end of TEXT that fits in WIDTH. */
static size_t tail_start(const char *text, double width, bool cells)
{
    size_t at = strlen(text);
    while (at > 0) {
        size_t before = at - 1;
        while (before > 0 && ((unsigned char)text[before] & 0xc0) == 0x80)
            before--;
        width -= character_width(text + before, at - before, cells);
        if (width < 0)
            break;
        at = before;
    }
    return at;
}

char *text_visible(const char *name, struct glyphs *glyphs)
{
    char *visible = utf8_visible(name, NULL);
    if (glyphs == NULL)
        return visible;
    char *copy = mem_alloc(strlen(visible) * 3 + 1), *to = copy; /* 2 bytes become 6 */
    for (size_t at = 0, length; visible[at] != '\0'; at += length) {
        length = step(visible + at);
        uint32_t code = utf8_code(visible + at, length);
        if (!glyphs_have(glyphs, code)) {
            to += sprintf(to, "\\u%04" PRIx32, code);
            continue;
        }
        memcpy(to, visible + at, length);
        to += length;
    }
    *to = '\0';
    free(visible);
    return copy;
}

char *text_fit(const char *text, double width, bool cells, struct glyphs *glyphs)
{
    char *visible = text_visible(text, glyphs);
    if (text_width(visible, cells) <= width)
        return visible;
    const char *dots = cells ? ".." : "\xe2\x80\xa6";
    double room = width - (cells ? 2 : 1);
    size_t head = head_length(visible, room / 2, cells);
    size_t tail = tail_start(visible, room / 2, cells);
    char *fit = mem_printf("%.*s%s%s", (int)head, visible, dots, tail > head ? visible + tail : "");
    free(visible);
    return fit;
}

/* Fits VISIBLE, the name of a row without the side after it. */
static char *fit_function(const char *visible, double width, bool cells)
{
    char *shorter = NULL;
    for (int step = ELIDE_NOTHING; step < ELIDE_STEPS; step++) {
        free(shorter);
        shorter = elide_arguments(visible, (enum elide_step)step);
        if (text_width(shorter, cells) <= width)
            break;
    }
    char *inner = text_width(shorter, cells) > width ? elide_scopes(shorter, 1) : NULL;
    for (size_t count = 2; inner != NULL && text_width(inner, cells) > width; count++) {
        char *next = count <= ELIDE_MAX_SCOPES ? elide_scopes(shorter, count) : NULL;
        if (next == NULL) { /* the name of the function alone is too long */
            free(inner);
            inner = elide_function(shorter);
            break;
        }
        free(inner);
        inner = next;
    }
    char *fit = text_fit(inner != NULL ? inner : shorter, width, cells, NULL);
    free(inner);
    free(shorter);
    return fit;
}

/* Returns where the side begins in VISIBLE, as in "main(int) [before]", or the end of VISIBLE. */
static size_t side_start(const char *visible)
{
    size_t end = strlen(visible), at = end;
    if (end == 0 || visible[end - 1] != ']')
        return end;
    while (at > 0 && strncmp(visible + at, " [", 2) != 0)
        at--;
    return at > 0 && strncmp(visible + at, " [clone ", 8) != 0 ? at : end;
}

char *text_fit_name(const char *name, double width, bool cells, struct glyphs *glyphs)
{
    char *visible = text_visible(name, glyphs);
    size_t start = side_start(visible);
    char *side = text_fit(visible + start, width / 2, cells, NULL);
    visible[start] = '\0';
    char *fit = fit_function(visible, width - text_width(side, cells), cells);
    mem_append(&fit, "%s", side);
    free(side);
    free(visible);
    return fit;
}

static const struct {
    double factor;
    const char *prefix;
} prefixes[] = {{1e-12, "p"}, {1e-9, "n"}, {1e-6, "u"}, {1e-3, "m"}, {1, ""},
                {1e3, "k"},   {1e6, "M"},  {1e9, "G"},  {1e12, "T"}};

static bool takes_prefix(const char *unit)
{
    static const char *const known[] = {"s", "J", "W", "C", "A", "V", "Hz"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], unit) == 0)
            return true;
    return false;
}

double scale_end(double code, double rest)
{
    return code > 0 && rest > 1.6 * code ? code : fmax(code, rest);
}

struct scale scale_for(double largest, const char *unit)
{
    struct scale scale = {.factor = 1};
    size_t at = 0, count = sizeof prefixes / sizeof prefixes[0];
    snprintf(scale.unit, sizeof scale.unit, "%s", unit);
    if (!takes_prefix(unit) || !(largest > 0) || !isfinite(largest))
        return scale;
    /* 999.6 would be rounded to 1000 of the smaller unit */
    while (at + 1 < count && largest * 1.0005 >= prefixes[at + 1].factor &&
           !(strcmp(unit, "s") == 0 && prefixes[at].factor >= 1))
        at++;
    scale.factor = prefixes[at].factor;
    snprintf(scale.unit, sizeof scale.unit, "%s%s", prefixes[at].prefix, unit);
    return scale;
}

char *text_value(double value, const char *unit)
{
    struct scale scale = scale_for(fabs(value), unit);
    double shown = value / scale.factor, size = fabs(shown);
    if (value == 0)
        scale = scale_for(1, unit);
    int decimals = size >= 99.95 || value == 0 ? 0 : size >= 9.995 ? 1 : 2;
    const char *gap = scale.unit[0] != '\0' ? " " : "";
    if (unit[0] == '\0' && value == floor(value) && size < 1e7)
        return mem_printf("%.0f", value);
    if (size >= 1e6 || (size < 0.01 && value != 0))
        return mem_printf("%.3g%s%s", shown, gap, scale.unit);
    return mem_printf("%.*f%s%s", decimals, shown, gap, scale.unit);
}
