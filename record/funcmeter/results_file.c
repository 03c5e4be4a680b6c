/* The file to which funcmeter writes its results.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/results_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"
#include "formats/table/table.h"

static char *command_line(char *const *command)
{
    char *line = mem_strdup(command[0]);
    for (size_t i = 1; command[i] != NULL; i++)
        mem_append(&line, " %s", command[i]);
    return line;
}

static void write_pbin(const struct funcmeter_options *o, const struct meter_results *results,
                       const struct meter_arcs *arcs, const struct session *session,
                       const struct planner *planner, struct output *out)
{
    char *line = command_line(o->command);
    const struct meter_run run = {.name = o->output != NULL ? elf_base_name(o->output) : "<stdout>",
                                  .target = o->command[0],
                                  .command = line,
                                  .wall_ns = session_wall(session)};
    meter_results_write_pbin(results, arcs, planner, &run, out);
    free(line);
}

struct output *results_file_open(const struct funcmeter_options *o, struct error *err)
{
    return output_open(o->output, funcmeter_wants_pbin(o) ? OUTPUT_BINARY : 0, err);
}

int results_file_write(const struct funcmeter_options *o, const struct meter_results *results,
                       const struct meter_arcs *arcs, const struct session *session,
                       const struct planner *planner, struct output **out, struct error *err)
{
    if (o->output == NULL && o->format == NULL && o->reporter.quiet)
        return 0;
    /* stdout belongs to the command */
    if (o->output == NULL && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return error_set_errno(err, NULL, errno, "cannot write to stderr");
    struct output *to = *out != NULL ? *out : results_file_open(o, err);
    *out = NULL;
    if (to == NULL)
        return -1;
    const struct table_format *format = table_format_choose(o->format, o->output, &table_text);
    if (funcmeter_wants_pbin(o))
        write_pbin(o, results, arcs, session, planner, to);
    else if (funcmeter_wants_igprof(o))
        meter_results_write_igprof(results, planner, o->command[0],
                                   session_block(session, 0)->thread.pid, to);
    else if (o->session.callers)
        meter_arcs_write(arcs, planner, format, to);
    else
        meter_results_write(results, planner, format, to);
    return output_commit(to);
}
