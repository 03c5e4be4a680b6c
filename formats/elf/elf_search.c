/* Searches for the file of a mapping, and for the debug file of a stripped file.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_search.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/elf/dwarf_bytes.h"
#include "formats/elf/elf_match.h"
#include "formats/elf/elf_sections.h"

/* Folders of the base system, and of Debian's architectures below lib/ and usr/lib/. */
static const char *const folders[] = {
    "/lib",       "/lib64",         "/usr/lib",     "/usr/lib64",     "/lib32",
    "/usr/lib32", "/usr/local/lib", "/usr/bin",     "/bin",           "/usr/sbin",
    "/sbin",      "/usr/local/bin", "/usr/libexec", "/usr/local/sbin"};
static const char *const triplets[] = {
    "x86_64-linux-gnu",   "aarch64-linux-gnu", "arm-linux-gnueabihf",     "i386-linux-gnu",
    "arm-linux-gnueabi",  "riscv64-linux-gnu", "powerpc64le-linux-gnu",   "powerpc64-linux-gnu",
    "powerpc-linux-gnu",  "s390x-linux-gnu",   "mips64el-linux-gnuabi64", "mipsel-linux-gnu",
    "x86_64-linux-gnux32"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { MAX_LINK = 4096, MAX_BUILD_ID = MAX_ALTERNATE_ID / 2, DWARF_VERSION = 5 };

const char *elf_base_name(const char *label)
{
    const char *slash = strrchr(label, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : label;
}

static const char *root_of(const struct elf_search *search)
{
    return search->sysroot != NULL ? search->sysroot : "";
}

/* ---- files of mappings ---- */

struct taker {
    bool (*take)(void *context, const char *path);
    void *context;
};

/* A path too long to be opened is not a candidate. */
static bool offer(const struct taker *t, const char *folder, const char *between, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, between, name);
    return length > 0 && (size_t)length < sizeof path && t->take(t->context, path);
}

static bool in_search_paths(const struct taker *t, const struct elf_search *search,
                            const char *label, const char *base)
{
    for (size_t i = 0; i < search->folder_count; i++) {
        const char *folder = search->folders[i];
        if (base != label && offer(t, folder, label[0] == '/' ? "" : "/", label))
            return true;
        if (offer(t, folder, "/", base))
            return true;
    }
    return false;
}

/* Offers the file in the folder of the file at PATH. */
static bool is_beside(const struct taker *t, const char *path, const char *base)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    char folder[PATH_MAX];
    if (slash == NULL || (size_t)(slash - path) >= sizeof folder)
        return false; /* the current directory has been searched */
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return offer(t, folder, "/", base);
}

static bool in_system(const struct taker *t, const char *sysroot, const char *base)
{
    char folder[PATH_MAX];
    for (size_t i = 0; i < COUNT(triplets); i++)
        for (int usr = 0; usr < 2; usr++) {
            int length = snprintf(folder, sizeof folder, "%s%s/lib/%s", sysroot, usr ? "/usr" : "",
                                  triplets[i]);
            if ((size_t)length < sizeof folder && offer(t, folder, "/", base))
                return true;
        }
    for (size_t i = 0; i < COUNT(folders); i++) {
        int length = snprintf(folder, sizeof folder, "%s%s", sysroot, folders[i]);
        if ((size_t)length < sizeof folder && offer(t, folder, "/", base))
            return true;
    }
    return false;
}

bool elf_search_paths(const struct elf_search *search, const struct elf_sought *sought,
                      bool (*take)(void *context, const char *path), void *context)
{
    const struct taker t = {take, context};
    const char *label = sought->label, *base = elf_base_name(label), *root = root_of(search);
    const char *before = sought->path != NULL ? sought->path : "";
    if (base[0] == '\0' || base[0] == '[' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return false; /* anonymous memory, [vdso], [heap]: no file */
    return in_search_paths(&t, search, label, base) ||
           (before[0] != '\0' && take(context, before)) ||
           offer(&t, label[0] == '/' ? root : ".", label[0] == '/' ? "" : "/", label) ||
           offer(&t, ".", "/", base) || is_beside(&t, search->beside, base) ||
           in_system(&t, root, base);
}

struct finder {
    int (*fits)(void *context, const struct elf_file *file, struct error *err);
    void *context;
    struct error *err;
    struct elf_file *found;
};

static bool take_file(void *context, const char *path)
{
    struct finder *f = context;
    struct error ignored = {0};
    int errnum;
    struct elf_file *file = elf_file_open(path, &errnum, &ignored);
    if (file == NULL && errnum != ENOENT && errnum != ENOTDIR)
        error_pass(f->err, &ignored);
    if (file == NULL)
        return false;
    if (f->fits(f->context, file, f->err) == 0)
        f->found = file;
    else
        elf_file_close(file);
    return f->found != NULL;
}

struct elf_file *elf_search_file(const struct elf_search *search, const struct elf_sought *sought,
                                 int (*fits)(void *context, const struct elf_file *file,
                                             struct error *err),
                                 void *context, struct error *err)
{
    struct error refused = {0};
    struct finder f = {.fits = fits, .context = context, .err = &refused};
    if (!elf_search_paths(search, sought, take_file, &f) && refused.text[0] != '\0')
        error_pass(err, &refused);
    return f.found;
}

void elf_search_warn(struct reporter *reporter, const char *label, const struct error *refused,
                     const char *consequence)
{
    bool found = refused->text[0] != '\0', other = strcmp(refused->file, label) != 0;
    report_warning(reporter, "%s%s%s: %s: %s", label, found && other ? ": " : "",
                   found && other ? refused->file : "",
                   found ? refused->text : "not found (-s DIR adds a search path)", consequence);
}

/* ---- debug files ---- */

struct debug_search {
    const struct elf_search *search;
    const struct elf_file *file; /* to which the debug file belongs */
    const char *build_id;        /* which the debug file must have */
    bool is_alternate;           /* an alternate file of FILE, not its debug file */
    struct error *err;
};

/* A link to an alternate file, or the same data about an alternate file itself. */
struct alternate_link {
    uint8_t bytes[MAX_LINK + 1];
    const char *path; /* in BYTES */
    char build_id[MAX_ALTERNATE_ID];
};

/* .gnu_debugaltlink: path, NUL, build-id.
 * .debug_sup: u16 version, u8 whether FILE is an alternate one, path, NUL, uleb length of the
 * build-id, build-id.
 * Returns false if FILE has none of this kind. */
static bool read_alternate_link(const struct elf_file *file, bool is_alternate,
                                struct alternate_link *link)
{
    const struct elf_section *section =
        is_alternate ? NULL : elf_section_find(file, ".gnu_debugaltlink");
    const bool is_new = section == NULL;
    if (is_new)
        section = elf_section_find(file, ".debug_sup");
    uint64_t size = section != NULL ? elf_section_size(file, section) : 0;
    memset(link, 0, sizeof *link);
    if (size == 0 || size > MAX_LINK || !elf_section_read(file, section, link->bytes))
        return false;
    struct dwarf_bytes b =
        dwarf_bytes_at((struct dwarf_span){link->bytes, size}, 0, file->big_endian);
    if (is_new && (dwarf_uint(&b, 2) != DWARF_VERSION || dwarf_uint(&b, 1) != is_alternate))
        return false;
    link->path = dwarf_string(&b);
    if (is_new)
        dwarf_uleb(&b);
    size_t length = dwarf_bytes_left(&b);
    if (b.bad || length == 0 || length > MAX_BUILD_ID)
        return false;
    for (size_t i = 0; i < length; i++)
        snprintf(link->build_id + 2 * i, 3, "%02x", b.at[i]);
    return true;
}

static bool is_sought(const struct debug_search *s, const struct elf_file *debug,
                      const uint32_t *crc)
{
    struct alternate_link own;
    struct error other = {0};
    if (!s->is_alternate && elf_match_debug(s->file, debug, crc, &other))
        return true;
    if (other.text[0] != '\0')
        error_pass(s->err, &other);
    if (!s->is_alternate)
        return false;
    if (elf_has_build_id(debug, s->build_id))
        return true;
    return debug->build_id[0] == '\0' && read_alternate_link(debug, true, &own) &&
           strcmp(own.build_id, s->build_id) == 0;
}

static struct elf_file *open_debug(const struct debug_search *s, const uint32_t *crc,
                                   const char *format, ...) __attribute__((format(printf, 3, 4)));
static struct elf_file *open_debug(const struct debug_search *s, const uint32_t *crc,
                                   const char *format, ...)
{
    struct error why = {0};
    int errnum = 0;
    va_list args;
    va_start(args, format);
    struct elf_file *debug = elf_file_open_as(format, args, &errnum, &why);
    va_end(args);
    if (debug == NULL && errnum != ENOENT && errnum != ENOTDIR)
        error_pass(s->err, &why);
    if (debug == NULL || (elf_has_debug(debug) && is_sought(s, debug, crc)))
        return debug;
    if (elf_file_failed(debug) != 0)
        error_set_errno(s->err, debug->path, elf_file_failed(debug), "cannot read");
    elf_file_close(debug);
    return NULL;
}

static struct elf_file *by_build_id(const struct debug_search *s)
{
    const struct elf_search *search = s->search;
    const char *id = s->build_id;
    struct elf_file *debug = NULL;
    if (strlen(id) < 4)
        return NULL;
    for (size_t i = 0; i < search->folder_count && debug == NULL; i++)
        debug = open_debug(s, NULL, "%s/.build-id/%.2s/%s.debug", search->folders[i], id, id + 2);
    for (size_t i = 0; i < search->debug_folder_count && debug == NULL; i++)
        debug =
            open_debug(s, NULL, "%s/.build-id/%.2s/%s.debug", search->debug_folders[i], id, id + 2);
    if (debug == NULL)
        debug = open_debug(s, NULL, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", root_of(search), id,
                           id + 2);
    return debug;
}

/* The length of the sysroot at the beginning of FOLDER, which is not part of paths on the target
 * and below usr/lib/debug. */
static size_t sysroot_in(const char *folder, size_t length, const char *root)
{
    size_t n = strlen(root);
    while (n > 0 && root[n - 1] == '/')
        n--;
    return n <= length && memcmp(folder, root, n) == 0 && (n == length || folder[n] == '/') ? n : 0;
}

/* The folder of the file at PATH; *LENGTH is the length of its text. */
static const char *folder_of(const char *path, size_t *length)
{
    const char *slash = strrchr(path, '/');
    *length = slash != NULL ? (size_t)(slash - path) : 1;
    return slash != NULL ? path : ".";
}

/* Opens the debug file NAME in FOLDER, or in .debug there. */
static struct elf_file *in_folder(const struct debug_search *s, const char *folder, size_t length,
                                  const char *name, uint32_t crc)
{
    struct elf_file *debug = open_debug(s, &crc, "%.*s/%s", (int)length, folder, name);
    return debug != NULL ? debug : open_debug(s, &crc, "%.*s/.debug/%s", (int)length, folder, name);
}

/* The same for the counterpart of FOLDER below each folder for debug files. FOLDER may begin with
 * the sysroot ROOT. */
static struct elf_file *below_debug_folders(const struct debug_search *s, const char *folder,
                                            size_t length, const char *root, const char *name,
                                            uint32_t crc)
{
    const size_t skip = sysroot_in(folder, length, root);
    const char *between = folder[skip] == '/' ? "" : "/";
    struct elf_file *debug = NULL;
    for (size_t i = 0; i < s->search->debug_folder_count && debug == NULL; i++)
        debug = open_debug(s, &crc, "%s%s%.*s/%s", s->search->debug_folders[i], between,
                           (int)(length - skip), folder + skip, name);
    return debug != NULL ? debug
                         : open_debug(s, &crc, "%s/usr/lib/debug%s%.*s/%s", root_of(s->search),
                                      between, (int)(length - skip), folder + skip, name);
}

/* Tries the path of the file as given; then its absolute path, without symbolic links to its
 * folder; then the path of the file to which it links. */
static struct elf_file *in_link_folders(const struct debug_search *s, const char *name,
                                        uint32_t crc)
{
    const char *path = s->file->path, *root = root_of(s->search);
    char given[PATH_MAX], place[PATH_MAX], target[PATH_MAX], real_root[PATH_MAX];
    size_t length, target_length;
    const char *folder = folder_of(path, &length);
    struct elf_file *debug = in_folder(s, folder, length, name, crc);
    if (debug == NULL)
        debug = below_debug_folders(s, folder, length, root, name, crc);
    if (debug != NULL || length >= sizeof given)
        return debug;
    snprintf(given, sizeof given, "%.*s", (int)length, folder);
    if (root[0] != '\0' && realpath(root, real_root) != NULL)
        root = real_root;
    if (realpath(length > 0 ? given : "/", place) == NULL)
        return NULL;
    const size_t place_length = strcmp(place, "/") == 0 ? 0 : strlen(place);
    if (strcmp(place, given) != 0 && length > 0)
        debug = below_debug_folders(s, place, place_length, root, name, crc);
    if (debug != NULL || realpath(path, target) == NULL)
        return debug;
    folder_of(target, &target_length);
    if (target_length == place_length && memcmp(target, place, place_length) == 0)
        return NULL;
    debug = in_folder(s, target, target_length, name, crc);
    return debug != NULL ? debug : below_debug_folders(s, target, target_length, root, name, crc);
}

/* .gnu_debuglink: name, NUL, padding to 4 bytes, CRC-32 in the file's byte order. */
static struct elf_file *by_debuglink(const struct debug_search *s)
{
    const struct elf_file *file = s->file;
    const struct elf_section *section = elf_section_find(file, ".gnu_debuglink");
    uint8_t link[MAX_LINK + 1] = {0};
    uint64_t size = section != NULL ? elf_section_size(file, section) : 0;
    if (size <= 4 || size > MAX_LINK || !elf_section_read(file, section, link))
        return NULL;
    const char *name = (const char *)link;
    size_t crc_at = (strlen(name) + 4) & ~(size_t)3;
    /* The name must be that of a file, not a path. */
    if (name[0] == '\0' || strchr(name, '/') != NULL || crc_at + 4 > size)
        return NULL;
    return in_link_folders(s, name, get_u32(link + crc_at, file->big_endian));
}

struct elf_file *elf_search_debug(const struct elf_search *search, const struct elf_file *file,
                                  struct error *err)
{
    struct error why = {0};
    const struct debug_search s = {search, file, file->build_id, false, &why};
    struct elf_file *debug = by_build_id(&s);
    if (debug == NULL && file->fd >= 0)
        debug = by_debuglink(&s);
    if (debug == NULL && why.text[0] != '\0')
        error_pass(err, &why);
    return debug;
}

/* Opens the file that the link from S->file calls PATH: an absolute one below the sysroot, or below a folder for debug
 * files instead of usr/lib/debug; others are relative to the file. */
static struct elf_file *by_path(const struct debug_search *s, const char *path)
{
    static const char debug_folder[] = "/usr/lib/debug/";
    const struct elf_search *search = s->search;
    const char *slash = strrchr(s->file->path, '/');
    struct elf_file *found = NULL;
    if (path[0] != '/')
        return open_debug(s, NULL, "%.*s/%s", slash != NULL ? (int)(slash - s->file->path) : 1,
                          slash != NULL ? s->file->path : ".", path);
    bool is_in_debug_folder = strncmp(path, debug_folder, sizeof debug_folder - 1) == 0;
    for (size_t i = 0; is_in_debug_folder && i < search->debug_folder_count && found == NULL; i++)
        found =
            open_debug(s, NULL, "%s/%s", search->debug_folders[i], path + sizeof debug_folder - 1);
    return found != NULL ? found : open_debug(s, NULL, "%s%s", root_of(search), path);
}

bool elf_alternate_id(const struct elf_file *debug, char build_id[MAX_ALTERNATE_ID])
{
    struct alternate_link link;
    bool found = read_alternate_link(debug, false, &link);
    if (found)
        memcpy(build_id, link.build_id, sizeof link.build_id);
    return found;
}

struct elf_file *elf_search_alternate(const struct elf_search *search, const struct elf_file *debug,
                                      struct error *err)
{
    struct alternate_link link;
    struct error why = {0};
    const struct debug_search s = {search, debug, link.build_id, true, &why};
    if (!read_alternate_link(debug, false, &link) || link.path[0] == '\0')
        return NULL;
    struct elf_file *found = by_path(&s, link.path);
    if (found == NULL)
        found = by_build_id(&s);
    if (found == NULL && why.text[0] != '\0')
        error_pass(err, &why);
    if (found == NULL)
        error_set(err, link.path, NO_OFFSET, "not found (--debug-dir DIR adds a folder)");
    return found;
}

void elf_search_free(struct elf_search *search)
{
    free(search->folders);
    free(search->debug_folders);
}

void elf_warn_failed(struct reporter *reporter, const struct elf_file *file, const char *lost)
{
    struct error err = {0};
    if (elf_file_failed(file) == 0)
        return;
    error_set_errno(&err, file->path, elf_file_failed(file), "cannot read");
    report_warning(reporter, "%s: %s: %s", err.file, err.text, lost);
}

struct elf_file *elf_search_debug_warn(const struct elf_search *search, const struct elf_file *file,
                                       struct reporter *reporter)
{
    struct error err = {0};
    struct elf_file *debug = elf_has_debug(file) ? NULL : elf_search_debug(search, file, &err);
    if (err.text[0] != '\0')
        report_warning(reporter, "%s: %s: no debug information for %s", err.file, err.text,
                       file->path);
    return debug;
}
