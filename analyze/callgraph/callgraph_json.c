/* A call graph as one JSON document: facts, functions with their callers and callees, cycles.
 *
 *   {"index":2,"function":"work","self_s":0.05,"children_s":0.2,"calls":3,"recursive_calls":2,
 *    "callers":[{"index":1,"function":"main","calls":3,"of":4,"self_s":0.05,"children_s":0.2}],"callees":[...]}
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/callgraph/callgraph_view.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY };

static json_t *text_value(const char *text)
{
    if (text == NULL)
        return json_null();
    char *valid = utf8_repair(text);
    json_t *value = json_string(valid);
    free(valid);
    return value;
}

static json_t *count_value(uint64_t count) /* jansson's integers end at 2^63 */
{
    return count <= INT64_MAX ? json_integer((json_int_t)count) : json_real((double)count);
}

static json_t *real_value(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Takes VALUE. */
static void dump(struct output *out, json_t *value)
{
    char *text = json_dumps(value, FLAGS);
    json_decref(value);
    if (text != NULL)
        output_write(out, text, strlen(text));
    free(text);
}

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

/* "energy_J": the names that pbin-aggregate's facts have. */
static void set_energy(const struct callgraph_view *v, json_t *object, const char *what,
                       double energy)
{
    if (v->quantity->name == NULL)
        return;
    char *name = strcmp(v->quantity->name, "energy") == 0
                     ? mem_printf("%senergy_J", what)
                     : mem_printf("%s%s", what, v->quantity->name);
    set(object, name, real_value(energy));
    free(name);
}

static void set_cost(const struct callgraph_view *v, json_t *object, const struct call_cost *self,
                     const struct call_cost *children)
{
    set(object, "self_s", real_value(self->time));
    set(object, "children_s", real_value(children->time));
    set_energy(v, object, "self_", self->energy);
    set_energy(v, object, "children_", children->energy);
}

static void set_name(json_t *object, const struct call_node *node)
{
    set(object, "index", json_integer(node->index));
    if (node->binary[0] != '\0')
        set(object, "binary", text_value(node->binary));
    set(object, "function", text_value(node->function));
    set(object, "cycle", node->cycle != 0 ? json_integer(node->cycle) : json_null());
}

static json_t *arc_value(const struct callgraph_view *v, const struct call_arc *arc,
                         const struct call_node *other)
{
    json_t *object = json_object();
    set_name(object, other);
    set(object, "calls", count_value(arc->count));
    set(object, "of",
        arc->inside ? json_null()
                    : count_value(callgraph_whole(v->graph, &v->graph->nodes[arc->callee])->calls));
    set_cost(v, object, &arc->self, &arc->children);
    return object;
}

static json_t *arcs_value(const struct callgraph_view *v, const struct call_node *node,
                          bool callers)
{
    json_t *array = json_array();
    uint32_t *arcs =
        callers ? callgraph_callers(v->graph, node) : callgraph_callees(v->graph, node);
    uint32_t count = callers ? node->caller_count : node->callee_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct call_arc *arc = &v->graph->arcs[arcs[i]];
        if (arc->caller != arc->callee)
            json_array_append_new(
                array, arc_value(v, arc, &v->graph->nodes[callers ? arc->caller : arc->callee]));
    }
    free(arcs);
    return array;
}

static json_t *node_value(const struct callgraph_view *v, const struct call_node *node)
{
    json_t *object = json_object();
    set_name(object, node);
    set(object, "share", real_value(callgraph_share(v->graph, node)));
    set_cost(v, object, &node->self, &node->children);
    set(object, "calls", count_value(node->calls));
    set(object, "recursive_calls", count_value(node->recursive));
    return object;
}

static json_t *function_value(const struct callgraph_view *v, const struct call_node *node)
{
    json_t *object = node_value(v, node);
    set(object, "callers", arcs_value(v, node, true));
    set(object, "callees", arcs_value(v, node, false));
    return object;
}

static json_t *cycle_value(const struct callgraph_view *v, const struct call_node *cycle)
{
    json_t *object = node_value(v, cycle), *members = json_array();
    json_object_del(object, "function");
    const uint32_t *member = v->graph->members + cycle->first_member;
    for (uint32_t i = 0; i < cycle->member_count; i++)
        json_array_append_new(members, json_integer(v->graph->nodes[member[i]].index));
    set(object, "members", members);
    return object;
}

static void put_nodes(const struct callgraph_view *v, struct output *out, bool cycles)
{
    const struct callgraph *g = v->graph;
    const char *between = "\n";
    for (uint32_t i = 0; i < g->function_count + g->cycle_count; i++) {
        const struct call_node *node = &g->nodes[g->order[i]];
        if (!v->shown[g->order[i]] || (g->order[i] >= g->function_count) != cycles)
            continue;
        output_printf(out, "%s", between);
        dump(out, cycles ? cycle_value(v, node) : function_value(v, node));
        between = ",\n";
    }
}

static json_t *facts(const struct callgraph_view *v)
{
    json_t *object = json_object();
    set(object, "name", text_value(v->meta->name));
    set(object, "target", text_value(v->meta->target));
    set(object, "dialect", text_value(v->meta->dialect));
    set(object, "time_s", real_value(v->graph->total.time));
    set_energy(v, object, "", v->graph->total.energy);
    return object;
}

void callgraph_json(const struct callgraph_view *v, struct output *out)
{
    output_printf(out, "{\"profile\":");
    dump(out, facts(v));
    output_printf(out, ",\n\"functions\":[");
    put_nodes(v, out, false);
    output_printf(out, "],\n\"cycles\":[");
    put_nodes(v, out, true);
    output_printf(out, "]}\n");
}
