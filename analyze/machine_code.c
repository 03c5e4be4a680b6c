/* Machine code of a file that was profiled: bytes and symbols by address.
 * SPDX-License-Identifier: MIT */
#include "analyze/machine_code.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { BUILD_ID_LONGEST = 64, ALONE_LONGEST = 65536 /* bytes of a function without size */ };

struct segment {
    uint64_t offset, address, file_size, memory_size;
    bool executable;
};

struct machine_code {
    char *path;
    int fd;
    Elf *elf;
    GElf_Ehdr header;
    struct segment *segments; /* PT_LOAD */
    size_t segment_count;
    struct code_symbol *symbols; /* by address */
    size_t symbol_count, symbol_capacity;
    char build_id[2 * BUILD_ID_LONGEST + 1]; /* "" if there is none */
    struct machine_code *debug;              /* where the symbols are of a stripped file, or NULL */
};

void machine_code_close(struct machine_code *code)
{
    if (code == NULL)
        return;
    machine_code_close(code->debug);
    elf_end(code->elf);
    if (code->fd >= 0)
        close(code->fd);
    free(code->segments);
    free(code->symbols);
    free(code->path);
    free(code);
}

const char *machine_code_path(const struct machine_code *code)
{
    return code->path;
}

unsigned machine_code_machine(const struct machine_code *code, bool *big_endian)
{
    *big_endian = code->header.e_ident[EI_DATA] == ELFDATA2MSB;
    return code->header.e_machine;
}

/* ---- headers ---- */

static bool take_note(struct machine_code *code, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name, text;
    for (size_t at = 0; data != NULL && (at = gelf_getnote(data, at, &note, &name, &text)) > 0;) {
        const uint8_t *bytes = (const uint8_t *)data->d_buf + text;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            memcmp((const char *)data->d_buf + name, "GNU", 4) != 0 ||
            note.n_descsz > BUILD_ID_LONGEST)
            continue;
        for (size_t i = 0; i < note.n_descsz; i++)
            snprintf(code->build_id + 2 * i, 3, "%02x", bytes[i]);
        return true;
    }
    return false;
}

static void read_segments(struct machine_code *code)
{
    size_t count = 0;
    GElf_Phdr p;
    if (elf_getphdrnum(code->elf, &count) != 0 || count > INT_MAX)
        return;
    code->segments = mem_zalloc(count, sizeof *code->segments);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(code->elf, (int)i, &p) == NULL)
            return;
        if (p.p_type == PT_LOAD)
            code->segments[code->segment_count++] = (struct segment){
                p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz, (p.p_flags & PF_X) != 0};
        if (p.p_type == PT_NOTE && code->build_id[0] == '\0')
            take_note(code, elf_getdata_rawchunk(code->elf, (int64_t)p.p_offset, p.p_filesz,
                                                 p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
    }
}

static void take_symbols(struct machine_code *code, Elf *elf, Elf_Scn *section,
                         const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data != NULL && header->sh_entsize > 0 ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i <= INT_MAX; i++) {
        GElf_Sym s;
        if (gelf_getsym(data, (int)i, &s) == NULL)
            return;
        unsigned type = GELF_ST_TYPE(s.st_info);
        const char *name = elf_strptr(elf, header->sh_link, s.st_name);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s.st_shndx == SHN_UNDEF || name == NULL)
            continue;
        if (code->header.e_machine == EM_ARM)
            s.st_value &= ~UINT64_C(1); /* says that it is Thumb code */
        mem_reserve(&code->symbols, &code->symbol_capacity, code->symbol_count + 1,
                    sizeof *code->symbols);
        code->symbols[code->symbol_count++] = (struct code_symbol){s.st_value, s.st_size, name};
    }
}

static int compare_symbols(const void *left, const void *right)
{
    const struct code_symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1; /* the longest comes last, and is found first */
    return strcmp(b->name, a->name);
}

/* Symbols of all tables: the dynamic one repeats some, which does no harm. Returns whether there is
 * a full one. */
static bool take_tables(struct machine_code *code, Elf *elf)
{
    GElf_Shdr header;
    bool full = false;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;)
        if (gelf_getshdr(s, &header) != NULL &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)) {
            take_symbols(code, elf, s, &header);
            full |= header.sh_type == SHT_SYMTAB;
        }
    return full;
}

/* ---- finding the file ---- */

static struct machine_code *try_open(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    struct machine_code *code = mem_zalloc(1, sizeof *code);
    code->fd = fd;
    code->path = mem_strdup(path);
    /* read, not mapped: a file that is cut short meanwhile would be a SIGBUS */
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (code->elf = elf_begin(fd, ELF_C_READ, NULL)) != NULL && elf_kind(code->elf) == ELF_K_ELF &&
        gelf_getehdr(code->elf, &code->header) != NULL) {
        read_segments(code);
        return code;
    }
    machine_code_close(code);
    return NULL;
}

/* The debug file of a stripped one: FOLDER/.build-id/ab/cdef.debug. */
static struct machine_code *try_debug(const struct machine_code *code, const char *folder)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, code->build_id,
                          code->build_id + 2);
    struct machine_code *debug = length > 0 && (size_t)length < sizeof path ? try_open(path) : NULL;
    if (debug == NULL || strcmp(debug->build_id, code->build_id) == 0)
        return debug;
    machine_code_close(debug);
    return NULL;
}

static void read_symbols(struct machine_code *code, const struct code_wanted *wanted)
{
    if (!take_tables(code, code->elf) && code->build_id[0] != '\0') {
        for (size_t i = 0; i < wanted->folder_count && code->debug == NULL; i++)
            code->debug = try_debug(code, wanted->folders[i]);
        if (code->debug == NULL)
            code->debug = try_debug(code, "/usr/lib/debug");
        if (code->debug != NULL)
            take_tables(code, code->debug->elf);
    }
    if (code->symbol_count > 0)
        qsort(code->symbols, code->symbol_count, sizeof *code->symbols, compare_symbols);
}

struct search {
    const struct code_wanted *wanted;
    struct machine_code *found;
    char *other; /* a file of that name, but not the one that ran: its path and build-id */
};

/* Is PATH the file? One with another build-id is remembered for the message. */
static bool try_path(struct search *s, const char *folder, const char *between, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, between, name);
    if (length <= 0 || (size_t)length >= sizeof path)
        return false;
    struct machine_code *code = try_open(path);
    if (code == NULL)
        return false;
    if (s->wanted->build_id[0] == '\0' || strcmp(code->build_id, s->wanted->build_id) == 0) {
        s->found = code;
        return true;
    }
    if (s->other == NULL)
        s->other = mem_printf("%s has build-id %s", path,
                              code->build_id[0] != '\0' ? code->build_id : "none");
    machine_code_close(code);
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static bool search_all(struct search *s)
{
    const struct code_wanted *w = s->wanted;
    const char *full = w->path[0] != '\0' ? w->path : w->label;
    for (size_t i = 0; i < w->folder_count; i++)
        if (try_path(s, w->folders[i], "/", full) ||
            try_path(s, w->folders[i], "/", base_name(full)))
            return true;
    return (w->path[0] != '\0' && try_path(s, "", "", w->path)) || try_path(s, "", "", w->label);
}

struct machine_code *machine_code_open(const struct code_wanted *wanted, struct reporter *reporter)
{
    struct search s = {.wanted = wanted};
    elf_version(EV_CURRENT);
    if (wanted->label[0] == '[') /* [vdso] and the like have no file */
        report_warning(reporter, "%s: is no file, its instructions are not known", wanted->label);
    else if (!search_all(&s) && s.other != NULL)
        report_warning(reporter,
                       "%s, but %s ran: not disassembled (-s FOLDER says where that file is)",
                       s.other, wanted->build_id);
    else if (s.found == NULL)
        report_warning(reporter,
                       "%s: binary not found, not disassembled (-s FOLDER says where it is)",
                       wanted->path[0] != '\0' ? wanted->path : wanted->label);
    else if (wanted->build_id[0] == '\0')
        report_warning(reporter,
                       "%s: the profile knows no build-id: this need not be the file that ran",
                       s.found->path);
    if (s.found != NULL)
        read_symbols(s.found, wanted);
    free(s.other);
    return s.found;
}

/* ---- addresses ---- */

/* mmap takes whole pages: code may be said to lie a little before its segment, or behind. */
static uint64_t page_down(uint64_t value, uint64_t page)
{
    return value & ~(page - 1);
}

static uint64_t mapped_size(const struct segment *s, uint64_t bytes, uint64_t page)
{
    return page_down(s->address % page + bytes + page - 1, page);
}

bool machine_code_at_offset(const struct machine_code *code, uint64_t offset, uint64_t *address)
{
    for (int executable = 1; executable >= 0; executable--)
        for (size_t i = 0; i < code->segment_count; i++) {
            const struct segment *s = &code->segments[i];
            if (s->executable != (executable == 1) || offset < s->offset ||
                offset - s->offset >= s->file_size)
                continue;
            *address = s->address + (offset - s->offset);
            return true;
        }
    return false;
}

bool machine_code_at_map(const struct machine_code *code, uint64_t map_size, uint64_t distance,
                         uint64_t *address)
{
    static const uint64_t pages[] = {4096, 16384, 65536};
    const struct segment *first = NULL;
    for (size_t p = 0; p < sizeof pages / sizeof pages[0]; p++)
        for (size_t i = 0; i < code->segment_count; i++) {
            const struct segment *s = &code->segments[i];
            if (!s->executable)
                continue;
            first = first == NULL ? s : first;
            if (map_size != mapped_size(s, s->file_size, pages[p]) &&
                map_size != mapped_size(s, s->memory_size, pages[p]))
                continue;
            *address = page_down(s->address, pages[p]) + distance;
            return true;
        }
    if (first == NULL || code->build_id[0] == '\0')
        return false;
    *address = page_down(first->address, pages[0]) + distance; /* it is the file that ran */
    return true;
}

static int compare_address(const void *key, const void *element)
{
    uint64_t address = *(const uint64_t *)key;
    const struct code_symbol *s = element, *next = s + 1; /* the last one is not searched */
    return address < s->address ? -1 : address >= next->address ? 1 : 0;
}

const struct code_symbol *machine_code_symbol(const struct machine_code *code, uint64_t address)
{
    size_t n = code->symbol_count;
    const struct code_symbol *s;
    if (n == 0 || address < code->symbols[0].address)
        return NULL;
    s = address >= code->symbols[n - 1].address
            ? &code->symbols[n - 1]
            : bsearch(&address, code->symbols, n - 1, sizeof *s, compare_address);
    if (s == NULL)
        return NULL;
    uint64_t size = s->size > 0 ? s->size : ALONE_LONGEST;
    return address - s->address < size ? s : NULL;
}

size_t machine_code_read(const struct machine_code *code, uint64_t address, uint8_t *to,
                         size_t size)
{
    size_t have = 0;
    for (size_t i = 0; i < code->segment_count; i++) {
        const struct segment *s = &code->segments[i];
        if (address < s->address || address - s->address >= s->file_size)
            continue;
        uint64_t at = address - s->address, left = s->file_size - at;
        size = left < size ? (size_t)left : size;
        while (have < size) {
            ssize_t got = pread(code->fd, to + have, size - have, (off_t)(s->offset + at + have));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return have;
            have += (size_t)got;
        }
        break;
    }
    return have;
}
