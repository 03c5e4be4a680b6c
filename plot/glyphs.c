/* Finds out which characters the installed fonts have, from fontconfig.
 * SPDX-License-Identifier: MIT */
#include "plot/glyphs.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/memory.h"

#define LIBRARY "libfontconfig.so.1" /* gnuplot needs it, too */

/* The used part of its interface, as in <fontconfig/fontconfig.h>. */
struct font_set {
    int count, size;
    void **fonts;
};
enum { FOUND = 0 };

struct fontconfig {
    void *library; /* NULL: not found */
    void *(*pattern_new)(void);
    void (*pattern_delete)(void *pattern);
    void *(*objects_new)(const char *first, ...);
    void (*objects_delete)(void *objects);
    struct font_set *(*list)(void *config, void *pattern, void *objects);
    void (*set_delete)(struct font_set *set);
    int (*get_text)(void *pattern, const char *object, int n, unsigned char **text);
    int (*get_characters)(void *pattern, const char *object, int n, void **characters);
    int (*has_character)(const void *characters, uint32_t code);
    void (*end)(void);
};

struct glyphs {
    struct fontconfig fc;
    struct font_set *set; /* the installed fonts, NULL: unknown */
    bool loaded;
};

static bool load(struct fontconfig *fc)
{
    const struct library_function functions[] = {{"FcPatternCreate", &fc->pattern_new},
                                                 {"FcPatternDestroy", &fc->pattern_delete},
                                                 {"FcObjectSetBuild", &fc->objects_new},
                                                 {"FcObjectSetDestroy", &fc->objects_delete},
                                                 {"FcFontList", &fc->list},
                                                 {"FcFontSetDestroy", &fc->set_delete},
                                                 {"FcPatternGetString", &fc->get_text},
                                                 {"FcPatternGetCharSet", &fc->get_characters},
                                                 {"FcCharSetHasChar", &fc->has_character},
                                                 {"FcFini", &fc->end},
                                                 {0}};
    fc->library = library_load(LIBRARY, functions);
    return fc->library != NULL;
}

static void list_fonts(struct glyphs *g)
{
    g->loaded = true;
    if (!load(&g->fc))
        return;
    void *all = g->fc.pattern_new(),
         *objects = g->fc.objects_new("fontformat", "charset", (char *)NULL);
    if (all != NULL && objects != NULL)
        g->set = g->fc.list(NULL, all, objects);
    if (objects != NULL)
        g->fc.objects_delete(objects);
    if (all != NULL)
        g->fc.pattern_delete(all);
}

/* Returns whether Pango draws FONT: other formats are not supported. */
static bool is_drawn(const struct glyphs *g, void *font)
{
    unsigned char *format;
    return g->fc.get_text(font, "fontformat", 0, &format) == FOUND &&
           (strcmp((char *)format, "TrueType") == 0 || strcmp((char *)format, "CFF") == 0);
}

struct glyphs *glyphs_new(void)
{
    return mem_zalloc(1, sizeof(struct glyphs));
}

void glyphs_delete(struct glyphs *g)
{
    if (g == NULL)
        return;
    if (g->set != NULL) {
        g->fc.set_delete(g->set);
        g->fc.end();
    }
    if (g->fc.library != NULL)
        dlclose(g->fc.library);
    free(g);
}

bool glyphs_have(struct glyphs *g, uint32_t code)
{
    enum { LATIN = 0x100, ELLIPSIS = 0x2026 }; /* in most pictures: not worth a search for fonts */
    void *characters;
    if (g == NULL || code < LATIN || code == ELLIPSIS)
        return true;
    if (!g->loaded)
        list_fonts(g);
    for (int i = 0; g->set != NULL && i < g->set->count; i++)
        if (is_drawn(g, g->set->fonts[i]) &&
            g->fc.get_characters(g->set->fonts[i], "charset", 0, &characters) == FOUND &&
            g->fc.has_character(characters, code))
            return true;
    return g->set == NULL;
}
