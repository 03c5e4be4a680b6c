/* A binary of the profiled program: its file, symbols and debug information.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/code_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "convert/symbolize/frame_cache.h"
#include "formats/elf/elf_search.h"
#include "formats/elf/elf_sections.h"
#include "formats/elf/elf_split.h"

/* Marks such a frame in place of a discriminator; real discriminators are smaller. */
#define OBJECT_FILE UINT32_MAX

struct code_file {
    struct elf_file *image; /* NULL: closed */
    struct stat identity;   /* of the image, if it is a file */
    char *path;             /* of the image, or its label */
    char build_id[sizeof((struct elf_file *)NULL)->build_id];
    struct elf_file *debug;     /* separate file, or NULL */
    struct elf_file *alternate; /* to which the debug information refers, or NULL */
    struct elf_file *package;   /* with the split debug information, or NULL */
    struct error
        split_missing; /* why the first unusable file with split debug information is not used */
    char *split_path;  /* of the last one that was opened */
    struct elf_symbols *symbols;
    struct dwarf_worker *worker;
    struct frame_cache *cache; /* of answers, NULL: none */
    struct strings *names;     /* in answers */
    uint32_t *numbers;         /* of NAMES in the strings of the caller; 0: not known */
    size_t number_count, number_capacity;
    const struct symbolizer_options *options;
    struct reporter *reporter;
    struct debuginfod *servers; /* NULL: none */
    bool debug_searched, others_searched, cache_searched, no_dwarf;
    bool incomplete;      /* another file is missing: answers are incomplete, and not kept */
    bool damage_reported; /* a warning about damage was given: one for each file */
    bool debug_reported;  /* the same for a debug file that is not used */
};

struct code_file *code_file_new(struct elf_file *image, const struct symbolizer_options *options,
                                struct reporter *reporter)
{
    struct code_file *file = mem_zalloc(1, sizeof *file);
    file->image = image;
    if (image->fd >= 0 && fstat(image->fd, &file->identity) != 0)
        file->identity = (struct stat){0};
    file->path = mem_strdup(image->path);
    memcpy(file->build_id, image->build_id, sizeof file->build_id);
    file->options = options;
    file->reporter = reporter;
    file->no_dwarf = options->no_dwarf;
    file->names = strings_new();
    return file;
}

/* Closes all files, but keeps the names in answers. */
static void close_all(struct code_file *file)
{
    dwarf_worker_delete(file->worker);
    frame_cache_close(file->cache);
    elf_symbols_delete(file->symbols);
    elf_file_close(file->alternate);
    elf_file_close(file->package);
    elf_file_close(file->debug);
    elf_file_close(file->image);
    file->worker = NULL;
    file->cache = NULL;
    file->symbols = NULL;
    file->alternate = file->package = file->debug = file->image = NULL;
    file->debug_searched = file->others_searched = file->cache_searched = false;
}

void code_file_delete(struct code_file *file)
{
    if (file == NULL)
        return;
    close_all(file);
    strings_delete(file->names);
    free(file->numbers);
    free(file->split_path);
    free(file->path);
    free(file);
}

void code_file_close(struct code_file *file)
{
    if (file->image != NULL && file->image->fd >= 0)
        close_all(file);
}

bool code_file_is_open(const struct code_file *file)
{
    return file->image != NULL;
}

void code_file_ask(struct code_file *file, struct debuginfod *servers)
{
    file->servers = servers;
}

const struct elf_file *code_file_image(struct code_file *file, struct error *err)
{
    struct stat now;
    int errnum;
    if (file->image != NULL)
        return file->image;
    file->image = elf_file_open(file->path, &errnum, err);
    if (file->image == NULL)
        return NULL;
    if (fstat(file->image->fd, &now) == 0 && now.st_dev == file->identity.st_dev &&
        now.st_ino == file->identity.st_ino && now.st_size == file->identity.st_size &&
        now.st_mtim.tv_sec == file->identity.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == file->identity.st_mtim.tv_nsec)
        return file->image;
    error_set(err, file->path, NO_OFFSET, "was replaced while this program ran");
    elf_file_close(file->image);
    file->image = NULL;
    return NULL;
}

const char *code_file_path(const struct code_file *file)
{
    return file->path;
}

const char *code_file_build_id(const struct code_file *file)
{
    return file->build_id;
}

static void search_debug(struct code_file *file)
{
    if (file->debug_searched)
        return;
    file->debug_searched = true;
    struct error ignored = {0};
    file->debug = !file->debug_reported
                      ? elf_search_debug_warn(&file->options->search, file->image, file->reporter)
                  : !elf_has_debug(file->image)
                      ? elf_search_debug(&file->options->search, file->image, &ignored)
                      : NULL;
    file->debug_reported = true;
    if (file->debug == NULL && !elf_has_debug(file->image))
        file->debug =
            debuginfod_find(file->servers, file->image->build_id, elf_base_name(file->image->path));
    if (file->debug == NULL && !elf_has_debug(file->image))
        file->no_dwarf = true;
}

static void load_symbols(struct code_file *file)
{
    if (file->symbols != NULL)
        return;
    file->symbols = elf_symbols_new(file->image, file->debug);
    elf_warn_failed(file->reporter, file->image, "names are lost");
    elf_warn_failed(file->reporter, file->debug, "names are lost");
    const bool overlap = elf_symbols_overlap(file->symbols);
    const char *damage = elf_symbols_damage(file->symbols);
    file->incomplete |= overlap || damage != NULL || elf_file_failed(file->image) != 0 ||
                        elf_file_failed(file->debug) != 0;
    if (overlap)
        report_warning(file->reporter, "%s: symbol names overlap: some functions have no name",
                       file->image->path);
    if (damage != NULL && !file->damage_reported) {
        file->damage_reported = true;
        report_warning(file->reporter, "%s: %s: some functions are lost", file->image->path,
                       damage);
    }
}

/* Returns the function in the symbol table at ADDRESS, which corresponds to the outermost of COUNT
 * FRAMES; NULL for none. A name from debug information is better than an address. */
static const struct elf_symbol *symbol_at(struct code_file *file, uint64_t address,
                                          const struct dwarf_frame *frames, size_t count)
{
    const struct elf_symbol *symbol = elf_symbols_find(file->symbols, address);
    bool is_known = count > 0 && frames[count - 1].function != 0;
    return symbol != NULL && symbol->is_address && is_known ? NULL : symbol;
}

/* Gives address INDEX, which has no frames, a frame with the source file of the object file of
 * SYMBOL. In the cache, it is marked by a special discriminator, because not every caller wants
 * such frames. BEFORE: the symbol whose frame the previous address has; NULL for another frame. */
static void add_object_file(struct code_file *file, const struct elf_symbol *symbol,
                            const struct elf_symbol *before, size_t index,
                            struct dwarf_answer *answer)
{
    const bool wanted = file->options->object_files || file->cache != NULL;
    if (symbol->file == NULL || !wanted)
        return;
    answer->count[index] = 1;
    if (index > 0 && symbol == before) {
        answer->first[index] = answer->first[index - 1];
        return;
    }
    answer->first[index] = (uint32_t)answer->frame_count;
    *MEM_APPEND(answer->frames, answer->frame_count, answer->frame_capacity) = (struct dwarf_frame){
        .file = strings_intern(file->names, symbol->file), .discriminator = OBJECT_FILE};
}

void code_file_end(struct code_file *file)
{
    if (file != NULL)
        dwarf_worker_end(file->worker);
}

void code_file_rest(struct code_file *file)
{
    if (file == NULL)
        return;
    dwarf_worker_delete(file->worker);
    file->worker = NULL;
}

/* Warns once about a lost worker; symbols remain. */
static void give_up_dwarf(struct code_file *file, const struct error *err)
{
    report_warning(file->reporter,
                   "%s: %s: lines and inlined functions are lost, function names are not",
                   err->file, err->text);
    dwarf_worker_delete(file->worker);
    file->worker = NULL;
    file->no_dwarf = file->damage_reported = true;
}

static void report_damage(struct code_file *file, const struct dwarf_answer *answer)
{
    if (answer->damaged == 0 || file->damage_reported)
        return;
    file->damage_reported = true;
    report_warning(file->reporter,
                   "%s: damaged debug information: some lines and inlined functions are lost",
                   file->debug != NULL ? file->debug->path : file->image->path);
}

/* Warns that a file other than the program's own cannot be used: answers are incomplete. */
static void report_missing(struct code_file *file, const struct error *missing, const char *lost)
{
    const struct elf_file *debug = file->debug != NULL ? file->debug : file->image;
    file->incomplete |= missing->text[0] != '\0';
    if (missing->text[0] == '\0' || file->damage_reported)
        return;
    file->damage_reported = true;
    report_warning(file->reporter, "%s: %s: %s: %s", debug->path, missing->file, missing->text,
                   lost);
}

static struct elf_file *open_split(void *context, const char *folder, const char *name)
{
    struct code_file *file = context;
    struct elf_file *split =
        elf_search_split(&file->options->search, file->image, folder, name, &file->split_missing);
    free(file->split_path);
    file->split_path = mem_strdup(split != NULL ? split->path : "");
    return split;
}

static void refuse_split(void *context)
{
    struct code_file *file = context;
    error_set(&file->split_missing, file->split_path, NO_OFFSET, "of another build");
}

static struct elf_file *search_alternate(struct code_file *file, const struct elf_file *debug,
                                         struct error *missing)
{
    struct error why = {0};
    char build_id[MAX_ALTERNATE_ID];
    struct elf_file *found = elf_search_alternate(&file->options->search, debug, &why);
    if (found == NULL && elf_alternate_id(debug, build_id))
        found = debuginfod_find(file->servers, build_id, elf_base_name(debug->path));
    if (found == NULL && why.text[0] != '\0')
        error_pass(missing, &why);
    return found;
}

static struct dwarf_worker *start_worker(struct code_file *file, struct error *err)
{
    const struct elf_search *search = &file->options->search;
    struct error missing = {0}, unreadable = {0};
    struct dwarf_files files = {.debug = file->debug != NULL ? file->debug : file->image,
                                .image = file->image,
                                .open_split = open_split,
                                .refuse_split = refuse_split,
                                .context = file};
    if (!file->others_searched) {
        file->alternate = search_alternate(file, files.debug, &missing);
        file->package = elf_search_package(search, file->image, files.debug, &unreadable);
    }
    file->others_searched = true;
    files.alternate = file->alternate;
    files.package = file->package;
    report_missing(file, &missing, "some names of functions are lost");
    report_missing(file, &unreadable, "some inlined functions are lost");
    return dwarf_worker_start(&files, file->options->dwarf_timeout, err);
}

/* Asks the worker, without waiting for the answer: the worker unpacks sections while we read
 * symbols. */
static void put_question(struct code_file *file, const uint64_t *addresses, size_t count)
{
    uint8_t between[BETWEEN_SIZE(MAX_QUESTION)] = {0};
    dwarf_worker_announce(file->worker, addresses, count);
    load_symbols(file);
    for (size_t i = 0; i < count; i++)
        if (!elf_symbols_cover(file->symbols, addresses[i]))
            between[i / 8] |= (uint8_t)(1u << i % 8);
    dwarf_worker_complete(file->worker, between, count);
}

/* Opens the cache when it is first needed. */
static void search_cache(struct code_file *file)
{
    if (!file->cache_searched && !file->options->no_cache)
        file->cache = frame_cache_open(file->image, file->debug != NULL ? file->debug : file->image,
                                       file->names);
    file->cache_searched = true;
}

static uint32_t number_of(struct code_file *file, uint32_t name, struct strings *strings)
{
    if (name != 0 && file->numbers[name] == 0)
        file->numbers[name] = strings_intern(strings, strings_get(file->names, name));
    return file->numbers[name];
}

/* Converts the names in the answer to numbers of the caller, in the order of frames, whether they
 * come from the cache or not. */
static void translate(struct code_file *file, struct dwarf_answer *answer, struct strings *strings)
{
    size_t count = strings_count(file->names);
    mem_reserve(&file->numbers, &file->number_capacity, count, sizeof *file->numbers);
    while (file->number_count < count)
        file->numbers[file->number_count++] = 0;
    for (size_t i = 0; i < answer->frame_count; i++) {
        struct dwarf_frame *f = &answer->frames[i];
        if (f->discriminator == OBJECT_FILE)
            *f = (struct dwarf_frame){.file = file->options->object_files ? f->file : 0};
        f->function = number_of(file, f->function, strings);
        f->file = number_of(file, f->file, strings);
        f->checksum = number_of(file, f->checksum, strings);
    }
}

/* Asks the worker. Returns false if there is no debug information. */
static bool ask(struct code_file *file, const uint64_t *addresses, size_t count,
                struct dwarf_answer *answer)
{
    struct error err = {0};
    if (file->no_dwarf)
        return false;
    if (file->worker == NULL)
        file->worker = start_worker(file, &err);
    if (file->worker != NULL && dwarf_worker_announced(file->worker) == 0)
        put_question(file, addresses, count);
    if (file->worker == NULL ||
        dwarf_worker_ask(file->worker, count, file->names, answer, &err) != 0) {
        give_up_dwarf(file, &err);
        return false;
    }
    report_damage(file, answer);
    report_missing(file, &file->split_missing, "some inlined functions are lost");
    return true;
}

/* Fills ANSWER with no frames for COUNT addresses. */
static void answer_nothing(struct dwarf_answer *answer, size_t count)
{
    dwarf_answer_reserve(answer, count);
    for (size_t i = 0; i < count; i++)
        answer->first[i] = answer->count[i] = 0;
}

/* Finds the results that are not in the cache, and adds them. */
static void find(struct code_file *file, const uint64_t *addresses, size_t count,
                 struct dwarf_answer *answer, uint32_t *symbols)
{
    bool asked = ask(file, addresses, count, answer);
    if (!asked)
        answer_nothing(answer, count);
    const struct elf_symbol *object = NULL; /* the previous address has the file of this symbol */
    const char *last = NULL;
    uint32_t number = 0;
    load_symbols(file);
    for (size_t i = 0; i < count; i++) {
        const struct dwarf_frame *frames = /* there may be none for any address */
            answer->count[i] > 0 ? answer->frames + answer->first[i] : NULL;
        const struct elf_symbol *symbol = symbol_at(file, addresses[i], frames, answer->count[i]);
        const char *name = symbol != NULL ? symbol->name : NULL;
        const bool bare = symbol != NULL && answer->count[i] == 0;
        if (bare)
            add_object_file(file, symbol, object, i, answer);
        object = bare ? symbol : NULL;
        if (name != last)
            number = strings_intern(file->names, name);
        last = name;
        symbols[i] = number;
    }
    if (asked && answer->damaged == 0 && !file->incomplete)
        frame_cache_add(file->cache, addresses, count, answer, symbols);
}

/* Searches for all files of FILE that the options allow. */
static void search_files(struct code_file *file)
{
    search_debug(file);
    if (!file->no_dwarf)
        search_cache(file);
}

void code_file_announce(struct code_file *file, const uint64_t *addresses, size_t count)
{
    struct error later = {0}; /* if no worker can be started now, the first use reports it */
    search_files(file);
    if (file->no_dwarf || frame_cache_has(file->cache, addresses, count))
        return;
    if (file->worker == NULL)
        file->worker = start_worker(file, &later);
    if (file->worker != NULL)
        put_question(file, addresses, count);
}

void code_file_find(struct code_file *file, const uint64_t *addresses, size_t count,
                    struct strings *strings, struct dwarf_answer *answer, uint32_t *names)
{
    search_files(file);
    if (!frame_cache_find(file->cache, addresses, count, answer, names))
        find(file, addresses, count, answer, names);
    translate(file, answer, strings);
    for (size_t i = 0; i < count; i++)
        names[i] = number_of(file, names[i], strings);
}
