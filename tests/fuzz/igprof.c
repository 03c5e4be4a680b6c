/* Dumps of IgProf, and what igprof2pbin makes of them.
 * SPDX-License-Identifier: MIT */
#include "convert/igprof2pbin/igprof_rows.h"
#include "tests/fuzz/input.h"

static void write_rows(const struct igprof *igprof, const struct call_tree *tree)
{
    struct error err = {0};
    struct output *out = output_open("/dev/null", OUTPUT_BINARY, &err);
    if (out == NULL)
        abort();
    if (igprof_rows_write(igprof, tree, "input", "input", out, &err) == 0)
        output_commit(out);
    else
        output_discard(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct igprof_node node;
    struct call_tree tree = {0};
    char path[64];
    int got = 1;
    int fd = input_file(data, size, path);
    struct stream *stream = stream_open_plain(path, &err);
    struct igprof *igprof = stream == NULL ? NULL : igprof_open(stream, &err);
    while (igprof != NULL && (got = igprof_next(igprof, &node, &err)) > 0) {
        input_touch(node.values, node.value_count * sizeof *node.values);
        call_tree_add(&tree, igprof, &node);
    }
    call_tree_end(&tree);
    if (got == 0 && igprof_counter_count(igprof) > 0)
        write_rows(igprof, &tree);
    call_tree_free(&tree);
    igprof_close(igprof);
    stream_close(stream);
    close(fd);
    return 0;
}
