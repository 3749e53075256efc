/* SPDX-License-Identifier: MIT */
/*
 * locus coalesce-bench: the table by which one chooses a coalescer's concurrency and max_batch,
 * for calls that arrive at a given rate, against a backend that two numbers describe or against
 * a pool in a real Redis. How a line is measured is in shared/load.c.
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <locus/coalesce.h>

#include "../shared/client.h"
#include "../shared/load.h"

enum { LIST_MAX = 16, CALLERS_MAX = 1024, MEMBERS = 16, SAMPLES_MAX = 1 << 24 };

struct bench_options {
    struct load load;
    const char *uri, *concurrency, *max_batch, *html;
    bool json;
};

static const char *const share_choices[] = {"queued", "inflight", "none", NULL};

#define AT(field) offsetof(struct bench_options, field)

static const struct option_spec options[] = {
    OPT_NUMBER("rate", 'r', AT(load.rate), "N", 1, 100000000,
               "Calls that arrive per second; 20000."),
    OPT_NUMBER("callers", 'c', AT(load.callers), "N", 1, CALLERS_MAX,
               "Threads that make them, and so how many can wait at once; 64."),
    OPT_NUMBER("keys", 'k', AT(load.keys), "N", 1, UINT32_MAX,
               "Different keys asked for, all equally often; 10000."),
    OPT_CHOICE("share", 0, AT(load.share), share_choices,
               "What calls of equal keys share; queued."),
    OPT_TEXT("concurrency", 0, AT(concurrency), "LIST",
             "Batches at once, to be tried; 1,2,4."),
    OPT_TEXT("max-batch", 0, AT(max_batch), "LIST",
             "Keys in a batch, to be tried; 1,8,64,256."),
    OPT_TIME("linger", 0, AT(load.linger_ns), 0, 3600 * NS_PER_S,
             "How long a batch that is not full waits for more; 0."),
    OPT_NUMBER("queue", 0, AT(load.queue), "N", 1, UINT32_MAX,
               "Keys that may wait for a batch; 65536."),
    OPT_TIME("timeout", 0, AT(load.timeout_ns), 0, 3600 * NS_PER_S,
             "Each call gives up after this; 0: never."),
    OPT_FLAG("workers-only", 0, AT(load.workers_only),
             "No batch on a caller's own thread."),
    OPT_TIME("rtt", 0, AT(load.rtt_ns), 0, 60 * NS_PER_S,
             "The simulated backend's time for a batch; 500us."),
    OPT_TIME("per-key", 0, AT(load.per_key_ns), 0, 60 * NS_PER_S,
             "... and for each key in it, on top; 1us."),
    OPT_TEXT(
        "uri", 'u', AT(uri), "URI",
        "No simulated backend, but picks from a pool in Redis, which is deleted after: "
        "redis://host[:port][/db] or redis+unix:///path. Keys are then never shared."),
    OPT_TIME("duration", 'd', AT(load.duration_ns), 10000000, 3600 * NS_PER_S,
             "Time for each line of the table; 1s."),
    OPT_NUMBER("seed", 0, AT(load.seed), "N", 0, 0, "Of arrivals and keys; 1."),
    OPT_FLAG("json", 'j', AT(json), "Print JSON, one object a line."),
    OPT_TEXT("html", 0, AT(html), "FILE",
             "Also draw the table, as a page that needs nothing else."),
    OPT_END,
};

struct list {
    uint32_t values[LIST_MAX];
    size_t count;
};

static int parse_list(const char *name, const char *text, uint32_t max,
                      struct list *out)
{
    while (out->count < LIST_MAX) {
        size_t length = strcspn(text, ",");
        uint64_t value;
        if (!read_number(text, length, &value) || value == 0 || value > max) {
            break;
        }
        out->values[out->count++] = (uint32_t)value;
        if (text[length] == '\0') {
            return 0;
        }
        text += length + 1;
    }
    return usage_error("coalesce-bench",
                       "--%s: expected up to %d numbers of 1 to %" PRIu32
                       ", as in 1,2,4, not '%s'",
                       name, LIST_MAX, max, text);
}

/* A pool of its own, in load->pool. */
static int open_pool(const char *uri, struct load *load)
{
    const struct locus_pool_config config = {
        .connections = LIST_MAX,
        .lifetime_ns = 86400 * NS_PER_S, /* should this be killed */
    };
    char name[64], member[32], why[CLIENT_WORDS] = "";
    const char *const members[] = {member};

    snprintf(name, sizeof(name), "locus-coalesce-bench-%d", (int)getpid());
    int status = locus_pool_open(uri, name, &config, &load->pool, why, sizeof(why));
    if (status == LOCUS_EINVAL) {
        return usage_error("coalesce-bench", "%s", why);
    }
    for (unsigned i = 0; status == LOCUS_OK && i < MEMBERS; i++) {
        snprintf(member, sizeof(member), "10.0.0.%u:80", i + 1);
        status = locus_pool_add(load->pool, members, 1, LOCUS_POOL_START_ZERO, 0, NULL);
    }
    if (status != LOCUS_OK) {
        if (load->pool != NULL) {
            locus_pool_error(load->pool, why, sizeof(why));
        }
        fprintf(stderr, "locus coalesce-bench: %s (%s)\n", locus_strerror(status), why);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

/* A line of the table for each pair. */
static int sweep(const struct bench_options *o, const struct list *concurrency,
                 const struct list *max_batch)
{
    static struct load_line lines[LIST_MAX * LIST_MAX];
    size_t count = concurrency->count * max_batch->count;

    if (!o->json) {
        load_print_heading(&o->load);
    }
    for (size_t i = 0; i < count; i++) {
        lines[i].concurrency = concurrency->values[i / max_batch->count];
        lines[i].max_batch = max_batch->values[i % max_batch->count];
        if (!load_run(&o->load, &lines[i])) {
            return memory_error("coalesce-bench");
        }
        if (!o->json) {
            load_print_line(&lines[i]);
        } else if (load_print_json(&lines[i]) != EXIT_OK) {
            return EXIT_RUNTIME;
        }
    }
    if (!o->json) {
        load_print_best(&o->load, lines, count);
    }
    return o->html == NULL ? EXIT_OK
                           : load_write_page(o->html, &o->load, lines,
                                             concurrency->count, max_batch->count);
}

static int bench(struct bench_options *o)
{
    struct list concurrency = {.count = 0}, max_batch = {.count = 0};
    uint32_t largest = o->uri != NULL ? LOCUS_POOL_PICKS_MAX : LOCUS_BATCH_MAX;
    int code = parse_list("concurrency", o->concurrency, LIST_MAX, &concurrency);

    if (code == EXIT_OK) {
        code = parse_list("max-batch", o->max_batch, largest, &max_batch);
    }
    if (code == EXIT_OK && load_samples(&o->load) > SAMPLES_MAX) {
        code =
            usage_error("coalesce-bench", "rate times duration is more than this keeps "
                                          "in memory; shorten --duration");
    }
    if (code == EXIT_OK && o->uri != NULL) {
        code = open_pool(o->uri, &o->load);
    }
    if (code == EXIT_OK) {
        code = sweep(o, &concurrency, &max_batch);
    }
    if (o->load.pool != NULL) {
        (void)!locus_pool_clear(o->load.pool);
        locus_pool_close(o->load.pool);
    }
    return code;
}

static const char description[] =
    "Tries a coalescer (locus/coalesce.h) with each pair of concurrency and max_batch "
    "against calls that arrive at a given rate, and prints the table by which one "
    "chooses them. Latency counts from when a call was due: a backend that cannot keep "
    "up shows.\n"
    "\n"
    "busy: share of the time that the allowed batches were running. queued: the most "
    "keys that waited at once. lost: calls refused, timed out, failed, or still due "
    "when the time was over twice.";

static const char examples[] =
    "# a backend of 2 ms per batch, 50,000 calls/s\n"
    "locus coalesce-bench --rtt 2ms --rate 50000 --concurrency 1,4 "
    "--max-batch 64\n"
    "# picks of a pool on a real Redis, drawn\n"
    "locus coalesce-bench --uri redis://127.0.0.1/0 --html table.html\n";

static int run(int argc, char **argv)
{
    struct bench_options given = {
        .concurrency = "1,2,4",
        .max_batch = "1,8,64,256",
        .load =
            {
                .rate = 20000,
                .callers = 64,
                .keys = 10000,
                .queue = 65536,
                .rtt_ns = 500000,
                .per_key_ns = 1000,
                .duration_ns = NS_PER_S,
                .seed = 1,
            },
    };
    struct arguments arguments;
    int status = options_parse(&cmd_coalesce_bench, argc, argv, &given, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    if (arguments.count > 0) {
        return usage_error("coalesce-bench", "unexpected argument '%s'",
                           arguments.items[0]);
    }
    return bench(&given);
}

const struct command cmd_coalesce_bench = {
    .name = "coalesce-bench",
    .summary = "the table by which one sizes a coalescer",
    .usage = "[options]",
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
