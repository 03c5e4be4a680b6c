/* An ELF file or image: headers, program headers, section headers, build-id.
 *
 * libelf 0.188 checks offsets and sizes against the size of the file. Checked here, because libelf
 * does not (tests/symbols, class Libelf, has a file for each):
 *
 * - sizes: a sparse file can have a table of terabytes, and libelf would read it;
 * - the number of sections where it is in section 0 (has_many_sections);
 * - the size of an entry in the tables of headers: libelf assumes the usual size;
 * - a truncated table of program headers: libelf uses the remaining part;
 * - notes: libelf keeps every piece of a file that it has read, and each of 65535 program headers
 *   may be a note of any size (1000 of 1 MiB: 1 GB), so all notes together have a budget;
 * - names: elf_strptr searches back from the end of the table for a NUL in each call
 *   (200000 names in 64 MiB without NULs: 8 minutes). elf_strings searches once.
 *
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "formats/elf/elf_internal.h"

/* Maximum size of a table that is read as a whole, such as symbols or names [bytes]. */
enum { MAX_TABLE = 1 << 30 };
enum { MAX_SECTIONS = 1 << 20, MAX_SEGMENTS = 1 << 10, MAX_NOTES = 1 << 20, MAX_BUILD_ID = 64 };

/* ---- bytes ---- */

static size_t read_some(const struct elf_file *file, uint64_t offset, uint8_t *to, uint64_t most)
{
    size_t have = 0;
    if (offset > file->size)
        return 0;
    size_t size = (size_t)(most < file->size - offset ? most : file->size - offset);
    if (file->memory != NULL) {
        memcpy(to, file->memory + offset, size);
        return size;
    }
    while (have < size) {
        ssize_t got = pread(file->fd, to + have, size - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && *file->failed == 0)
            *file->failed = errno;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    return have;
}

int elf_file_failed(const struct elf_file *file)
{
    return file != NULL ? *file->failed : 0;
}

/* Records a read error if the file has the SIZE bytes at OFFSET. libelf does not distinguish read
 * errors from damaged files. */
static void note_failure(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    if (*file->failed == 0 && size > 0 && offset <= file->size && size <= file->size - offset)
        *file->failed = errno == ENOMEM ? ENOMEM : EIO;
}

bool elf_file_read(const struct elf_file *file, uint64_t offset, void *to, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset &&
           read_some(file, offset, to, size) == size;
}

size_t elf_file_read_code(const struct elf_file *file, uint64_t address, uint8_t *to, size_t size)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct elf_segment *s = &file->segments[i];
        if (address < s->address || address - s->address >= s->file_size)
            continue;
        uint64_t at = address - s->address, left = s->file_size - at;
        return read_some(file, s->offset + at, to, left < size ? left : size);
    }
    return 0;
}

bool elf_file_map(struct elf_file *file)
{
    if (file->memory == NULL && file->size <= SIZE_MAX) {
        void *bytes = mmap(NULL, (size_t)file->size, PROT_READ, MAP_PRIVATE, file->fd, 0);
        file->memory = bytes != MAP_FAILED ? bytes : NULL;
    }
    return file->memory != NULL;
}

void elf_file_unload(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (file->fd < 0 || file->memory == NULL || offset > file->size || size > file->size - offset)
        return;
    uint64_t begin = (offset + page - 1) / page * page, end = (offset + size) / page * page;
    if (begin < end)
        madvise((void *)(file->memory + begin), (size_t)(end - begin), MADV_DONTNEED);
}

/* The contents of section INDEX, which GET reads; NULL if there are none. */
static Elf_Data *contents(const struct elf_file *file, size_t index,
                          Elf_Data *(*get)(Elf_Scn *, Elf_Data *))
{
    if (index >= file->section_count || file->sections[index].size > MAX_TABLE)
        return NULL;
    Elf_Data *data = get(elf_getscn(file->elf, index), NULL);
    if (data != NULL && data->d_buf != NULL)
        return data;
    const struct elf_section *s = &file->sections[index];
    note_failure(file, s->offset, s->type != SHT_NOBITS ? s->size : 0);
    return NULL;
}

Elf_Data *elf_table(const struct elf_file *file, size_t index)
{
    return contents(file, index, elf_getdata);
}

const char *elf_strings(const struct elf_file *file, size_t index, size_t *limit)
{
    *limit = 0;
    const Elf_Data *data = contents(file, index, elf_rawdata);
    if (data == NULL)
        return NULL;
    const char *last = memrchr(data->d_buf, '\0', data->d_size);
    *limit = last != NULL ? (size_t)(last - (const char *)data->d_buf) + 1 : 0;
    return data->d_buf;
}

bool elf_find_symbols(const struct elf_file *file, uint32_t type, struct elf_symbol_table *table)
{
    size_t index = 0;
    while (index < file->section_count && file->sections[index].type != type)
        index++;
    *table = (struct elf_symbol_table){.index = index, .data = elf_table(file, index)};
    if (table->data != NULL)
        table->names = elf_strings(file, file->sections[index].link, &table->limit);
    return table->data != NULL;
}

/* ---- names ---- */

enum { SHORT_NAME = 64, NAME_FACTOR = 4, FREE_NAMES = 64 * 1024 };

struct elf_name_budget elf_name_budget(size_t table_size)
{
    return (struct elf_name_budget){NAME_FACTOR * table_size + FREE_NAMES};
}

bool elf_name_fits(struct elf_name_budget *budget, const char *name)
{
    size_t length = strnlen(name, SHORT_NAME + budget->left + 1);
    if (length <= SHORT_NAME)
        return true;
    if (length > budget->left)
        return false;
    budget->left -= length;
    return true;
}

/* ---- headers ---- */

static int bad(const struct elf_file *file, uint64_t offset, struct error *err, const char *text)
{
    return error_set(err, file->path, offset, "%s", text);
}

/* If the number of sections is in section 0, libelf accepts any number for which the file is large
 * enough, and initialises 250 bytes for each section before it reads one: a sparse file of 1 GiB
 * took 14 s and 4.3 GB. The number is decoded here, because libelf has no function for this step
 * alone. */
static bool has_many_sections(const struct elf_file *file, const uint8_t *header)
{
    const bool big = file->big_endian, wide = file->is_64;
    uint8_t first[sizeof(Elf64_Shdr)];
    uint64_t at = wide ? get_u64(header + offsetof(Elf64_Ehdr, e_shoff), big)
                       : get_u32(header + offsetof(Elf32_Ehdr, e_shoff), big);
    size_t count = wide ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum);
    if (get_u16(header + count, big) != 0 || at == 0 ||
        !elf_file_read(file, at, first, wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
        return false;
    return (wide ? get_u64(first + offsetof(Elf64_Shdr, sh_size), big)
                 : get_u32(first + offsetof(Elf32_Shdr, sh_size), big)) > MAX_SECTIONS;
}

/* Checks the part of the header that must be valid before libelf may read the file. */
static int check_header(struct elf_file *file, struct error *err)
{
    uint8_t header[sizeof(Elf64_Ehdr)] = {0};
    if (!elf_file_read(file, 0, header, sizeof(Elf32_Ehdr)) || memcmp(header, ELFMAG, SELFMAG) != 0)
        return bad(file, 0, err, "not an ELF file");
    file->is_64 = header[EI_CLASS] == ELFCLASS64;
    file->big_endian = header[EI_DATA] == ELFDATA2MSB;
    if (!file->is_64 && header[EI_CLASS] != ELFCLASS32)
        return error_set(err, file->path, EI_CLASS, "ELF class %u, expected %d or %d",
                         header[EI_CLASS], ELFCLASS32, ELFCLASS64);
    if (!file->big_endian && header[EI_DATA] != ELFDATA2LSB)
        return error_set(err, file->path, EI_DATA, "ELF byte order %u, expected %d or %d",
                         header[EI_DATA], ELFDATA2LSB, ELFDATA2MSB);
    if (header[EI_VERSION] != EV_CURRENT)
        return error_set(err, file->path, EI_VERSION, "ELF version %u, expected %d",
                         header[EI_VERSION], EV_CURRENT);
    if (file->is_64 && !elf_file_read(file, 0, header, sizeof header))
        return bad(file, 0, err, "ELF header cut short");
    if (has_many_sections(file, header))
        return error_set(err, file->path, NO_OFFSET, "more than %d ELF sections", MAX_SECTIONS);
    return 0;
}

static void take_build_id(struct elf_file *file, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name, text;
    for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &text)) > 0;) {
        const uint8_t *bytes = data->d_buf;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof ELF_NOTE_GNU ||
            memcmp(bytes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0 || note.n_descsz == 0 ||
            note.n_descsz > MAX_BUILD_ID)
            continue;
        for (size_t i = 0; i < note.n_descsz; i++) {
            file->build_id[2 * i] = "0123456789abcdef"[bytes[text + i] >> 4];
            file->build_id[2 * i + 1] = "0123456789abcdef"[bytes[text + i] & 15];
        }
        return;
    }
}

/* Reads the SIZE bytes of notes at OFFSET, which count against the budget LEFT. */
static void read_notes(struct elf_file *file, uint64_t offset, uint64_t size, uint64_t align,
                       uint64_t *left)
{
    if (file->build_id[0] != '\0' || size == 0 || size > *left || offset > INT64_MAX)
        return;
    *left -= size;
    Elf_Data *data = elf_getdata_rawchunk(file->elf, (int64_t)offset, (size_t)size,
                                          align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (data != NULL)
        take_build_id(file, data);
    else
        note_failure(file, offset, size);
}

static int read_segments(struct elf_file *file, const GElf_Ehdr *header, uint64_t *notes,
                         struct error *err)
{
    const unsigned size = file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    size_t count = 0;
    GElf_Phdr p;
    if (header->e_phnum == 0)
        return 0;             /* a debug file may have no program headers */
    if (header->e_phoff == 0) /* libelf would report that there are none */
        return error_set(
            err, file->path,
            file->is_64 ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff),
            "%u program headers at offset 0, expected one after the ELF header", header->e_phnum);
    int result = elf_getphdrnum(file->elf, &count);
    if (header->e_phentsize != size)
        return error_set(err, file->path, header->e_phoff,
                         "program headers of %u bytes each, expected %u", header->e_phentsize,
                         size);
    if (count > MAX_SEGMENTS)
        return error_set(err, file->path, header->e_phoff, "%zu program headers, at most %d", count,
                         MAX_SEGMENTS);
    if (result != 0 || count < header->e_phnum || gelf_getphdr(file->elf, 0, &p) == NULL) {
        note_failure(file, header->e_phoff, (uint64_t)header->e_phnum * size);
        return error_set(err, file->path, header->e_phoff,
                         "program headers outside the file: %u of %u bytes each, file of %" PRIu64
                         " bytes",
                         header->e_phnum, size, file->size);
    }
    file->segments = mem_zalloc(count, sizeof *file->segments);
    for (size_t i = 0; i < count && gelf_getphdr(file->elf, (int)i, &p) != NULL; i++) {
        const struct elf_segment segment = {p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz,
                                            (p.p_flags & PF_X) != 0};
        if (p.p_type == PT_LOAD)
            file->segments[file->segment_count++] = segment;
        else if (p.p_type == (header->e_machine == EM_ARM ? PT_ARM_EXIDX : PT_GNU_EH_FRAME))
            file->unwind = segment;
        else if (p.p_type == PT_NOTE)
            read_notes(file, p.p_offset, p.p_filesz, p.p_align, notes);
    }
    return 0;
}

/* A file without section headers (stripped or truncated) still has segments, so this is not an error. Debug files and
 * kernel images have the build-id in a section only. */
static void read_sections(struct elf_file *file, const GElf_Ehdr *header, uint64_t *notes)
{
    size_t count = 0, names_index = 0, limit;
    GElf_Shdr s;
    if (header->e_shentsize != (file->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
        elf_getshdrnum(file->elf, &count) != 0 || count == 0)
        return;
    if (gelf_getshdr(elf_getscn(file->elf, 0), &s) == NULL) {
        note_failure(file, header->e_shoff, count * header->e_shentsize);
        return;
    }
    file->sections = mem_zalloc(count, sizeof *file->sections);
    file->section_count = count;
    for (size_t i = 0; i < count; i++)
        if (gelf_getshdr(elf_getscn(file->elf, i), &s) != NULL)
            file->sections[i] = (struct elf_section){.name = "",
                                                     .address = s.sh_addr,
                                                     .offset = s.sh_offset,
                                                     .size = s.sh_size,
                                                     .flags = s.sh_flags,
                                                     .type = s.sh_type,
                                                     .link = s.sh_link};
    if (elf_getshdrstrndx(file->elf, &names_index) != 0)
        names_index = count;
    const char *names = elf_strings(file, names_index, &limit);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getshdr(elf_getscn(file->elf, i), &s) != NULL && s.sh_name < limit)
            file->sections[i].name = names + s.sh_name;
        if (s.sh_type == SHT_NOTE)
            read_notes(file, s.sh_offset, s.sh_size, 4, notes);
    }
}

/* Reads the headers of FILE, and closes it if that fails. */
static struct elf_file *load(struct elf_file *file, struct error *err)
{
    GElf_Ehdr header;
    uint64_t notes = MAX_NOTES;
    struct error wrong = {0};
    if (check_header(file, &wrong) == 0) {
        elf_version(EV_CURRENT);
        errno = 0;
        file->elf = file->memory != NULL ? elf_memory((char *)file->memory, (size_t)file->size)
                                         : elf_begin(file->fd, ELF_C_READ, NULL);
        if (file->elf == NULL || elf_kind(file->elf) != ELF_K_ELF ||
            gelf_getehdr(file->elf, &header) == NULL) {
            if (*file->failed == 0) /* the header could be read */
                *file->failed = errno;
            bad(file, 0, &wrong, elf_errmsg(-1));
        } else if (read_segments(file, &header, &notes, &wrong) == 0) {
            file->type = header.e_type;
            file->machine = header.e_machine;
            read_sections(file, &header, &notes);
            if (*file->failed == 0)
                return file;
        }
    }
    if (*file->failed != 0)
        error_set_errno(err, file->path, *file->failed, "cannot read");
    else
        error_pass(err, &wrong);
    elf_file_close(file);
    return NULL;
}

/* ---- opening ---- */

struct elf_file *elf_file_from_descriptor(int fd, const char *path, struct error *err)
{
    struct stat info;
    struct elf_file *file = mem_zalloc(1, sizeof *file);
    file->path = mem_strdup(path);
    file->failed = mem_zalloc(1, sizeof *file->failed);
    file->content = mem_zalloc(1, ELF_CONTENT_ID);
    file->fd = fd;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        file->size = (uint64_t)info.st_size;
        return load(file, err);
    }
    error_set(err, path, NO_OFFSET, "not a regular file");
    elf_file_close(file);
    return NULL;
}

/* A profile may name a device or a FIFO, and opening one may have side effects or block forever.
 * Returns a descriptor; or -1 with *ERRNUM set, to 0 if PATH is not a regular file. */
static int open_regular(const char *path, int *errnum)
{
    char link[64];
    struct stat info;
    int place = open(path, O_PATH | O_CLOEXEC), fd = -1;
    bool regular = place >= 0 && fstat(place, &info) == 0 && S_ISREG(info.st_mode);
    *errnum = place < 0 ? errno : 0;
    if (regular) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", place);
        fd = open(link, O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT) /* /proc is not mounted */
            fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        *errnum = fd < 0 ? errno : 0;
    }
    if (place >= 0)
        close(place);
    return fd;
}

struct elf_file *elf_file_open(const char *path, int *errnum, struct error *err)
{
    int fd = open_regular(path, errnum);
    if (fd >= 0)
        return elf_file_from_descriptor(fd, path, err);
    if (*errnum == 0) {
        error_set(err, path, NO_OFFSET, "not a regular file");
        return NULL;
    }
    error_set_errno(err, path, *errnum, "cannot open");
    return NULL;
}

struct elf_file *elf_file_open_as(const char *format, va_list args, int *errnum, struct error *err)
{
    char path[PATH_MAX];
    int length = vsnprintf(path, sizeof path, format, args);
    if (length >= 0 && (size_t)length < sizeof path)
        return elf_file_open(path, errnum, err);
    *errnum = ENOENT;
    error_set_errno(err, path, ENAMETOOLONG, "cannot open");
    return NULL;
}

struct elf_file *elf_file_from_memory(const uint8_t *memory, size_t size, const char *label,
                                      struct error *err)
{
    struct elf_file *file = mem_zalloc(1, sizeof *file);
    file->path = mem_strdup(label);
    file->failed = mem_zalloc(1, sizeof *file->failed);
    file->content = mem_zalloc(1, ELF_CONTENT_ID);
    file->fd = -1;
    file->memory = memory;
    file->size = size;
    return load(file, err);
}

void elf_file_close(struct elf_file *file)
{
    if (file == NULL)
        return;
    elf_end(file->elf);
    if (file->fd >= 0) {
        if (file->memory != NULL)
            munmap((void *)file->memory, (size_t)file->size);
        close(file->fd);
    }
    free(file->failed);
    free(file->content);
    free(file->path);
    free(file->segments);
    free(file->sections);
    free(file);
}

bool elf_file_is_code(const struct elf_file *file, uint64_t address)
{
    for (size_t i = 0; i < file->section_count; i++) {
        const struct elf_section *s = &file->sections[i];
        if ((s->flags & SHF_EXECINSTR) && address >= s->address && address - s->address < s->size)
            return true;
    }
    for (size_t i = 0; file->section_count == 0 && i < file->segment_count; i++) {
        const struct elf_segment *s = &file->segments[i];
        if (s->executable && address >= s->address && address - s->address < s->memory_size)
            return true;
    }
    return false;
}
