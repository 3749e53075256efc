/* SPDX-License-Identifier: MIT */
/*
 * locus pool: the shared allocation pool from the shell. One subcommand is one function and
 * one line of a table.
 */
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <locus/pool.h>

#include "../base/output.h"
#include "../cli/progress.h"
#include "../shared/import.h"

#define NS_PER_S UINT64_C(1000000000)

struct pool_options {
    const char *uri, *name, *start;
    const char *schemes, *ports, *allow, *deny;
    uint64_t n, ttl_ns, limit, timeout_ns, interval_ns, rounds, max_bad;
    uint64_t fail_after, restore_after, min_live;
    int fail, format;
    bool drop, exact, only_allowed, names, dry_run, json;
};

struct session {
    const struct pool_options *options;
    struct locus_pool *pool;
    char *const *arguments; /* behind the subcommand */
    size_t count;
};

static const char *const fail_choices[] = {"closed", "open", NULL};
static const char *const format_choices[] = {"auto", "text", "csv", "json", NULL};

#define AT(field) offsetof(struct pool_options, field)

static const struct option_spec options[] = {
    OPT_TEXT("uri", 'u', AT(uri), "URI",
             "Where the pool is: redis://[[user]:password@]host[:port][/db] (rediss: "
             "for TLS, with ?cacert=FILE&cert=FILE&key=FILE where needed), "
             "redis+unix:///path or mem: (gone when the command ends). Default: "
             "LOCUS_POOL_URI of the environment, which keeps a password out of ps."),
    OPT_TEXT("pool", 'p', AT(name), "NAME", "The pool's name; default."),
    OPT_FLAG("json", 'j', AT(json), "Print JSON, one object a line."),
    OPT_NUMBER("count", 'n', AT(n), "N", 1, LOCUS_POOL_PICKS_MAX,
               "pick: how many, 1 to 1024; 1."),
    OPT_TEXT("start", 's', AT(start), "zero|min|mean|N",
             "add, import: the count that new members start at; min."),
    OPT_FLAG("drop", 0, AT(drop), "remove: keep no count."),
    OPT_FLAG("exact", 0, AT(exact),
             "restore: at the kept count, even below the live minimum."),
    OPT_TIME("ttl", 't', AT(ttl_ns), 1000000, 30 * 86400 * NS_PER_S,
             "acquire, renew: how long a lease lasts; 60s."),
    OPT_NUMBER("limit", 0, AT(limit), "N", 0, 1 << 20,
               "acquire: at most N leases per member; 0: no limit."),
    OPT_CHOICE("format", 0, AT(format), format_choices,
               "import: auto finds it by looking."),
    OPT_TEXT("schemes", 0, AT(schemes), "LIST",
             "import: only these, as http,https; default any."),
    OPT_TEXT("ports", 0, AT(ports), "LIST",
             "import: only these, as 80,8000-8999; default any."),
    OPT_TEXT("allow", 0, AT(allow), "RANGES",
             "import: let these in although they are private, as 10.1.0.0/16."),
    OPT_TEXT("deny", 0, AT(deny), "RANGES", "import: never let these in."),
    OPT_FLAG("only-allowed", 0, AT(only_allowed),
             "import: nothing but what --allow names."),
    OPT_FLAG("names", 0, AT(names), "import: host names too, which are not resolved."),
    OPT_FLAG("dry-run", 0, AT(dry_run),
             "import: judge, and add nothing; needs no URI."),
    OPT_NUMBER("max-bad", 0, AT(max_bad), "N", 0, 0,
               "import: add nothing and end with 3 when more lines than that are "
               "malformed; default any number."),
    OPT_NUMBER("fail-after", 0, AT(fail_after), "K", 1, 1000000,
               "report: failures in a row that take a member out; 3."),
    OPT_NUMBER("restore-after", 0, AT(restore_after), "M", 1, 1000000,
               "report: successes in a row that bring it back; 2."),
    OPT_NUMBER("min-live", 0, AT(min_live), "N", 0, LOCUS_POOL_MEMBERS_MAX,
               "report: take nobody out below this many live members; 0."),
    OPT_CHOICE("fail", 0, AT(fail), fail_choices,
               "What a pick does when Redis is away: end with 1, or pick by counts of "
               "its own (of the members last seen by this very command)."),
    OPT_TIME("timeout", 0, AT(timeout_ns), 1000000, 86400 * NS_PER_S,
             "Give up on Redis after this; 3s."),
    OPT_TIME("interval", 'i', AT(interval_ns), 10000000, 86400 * NS_PER_S,
             "watch: between two looks; 1s."),
    OPT_NUMBER("rounds", 0, AT(rounds), "N", 0, 0,
               "watch: stop after N looks; 0: never."),
    OPT_END,
};

/* What went wrong, on stderr; the exit code for it. */
static int failure(const struct session *s, const char *what, int status)
{
    char words[256] = "";

    if (status == LOCUS_ENOSERVER || status == LOCUS_EFULL) {
        fprintf(stderr, "locus pool: %s: %s\n", what,
                status == LOCUS_EFULL
                    ? "all members are at their limits, or the pool is full"
                    : "the pool has no live member");
        return EXIT_EMPTY;
    }
    if (status != LOCUS_ENOENT && status != LOCUS_EINVAL && status != LOCUS_ERANGE) {
        locus_pool_error(s->pool, words, sizeof(words));
    }
    fprintf(stderr, "locus pool: %s: %s%s%s%s\n", what, locus_strerror(status),
            words[0] != '\0' ? " (" : "", words, words[0] != '\0' ? ")" : "");
    return status == LOCUS_EINVAL || status == LOCUS_ERANGE ? EXIT_USAGE : EXIT_RUNTIME;
}

static int print_json(json_t *object)
{
    return output_json_line("pool", object);
}

static int parse_start(const char *text, enum locus_pool_start *start, uint64_t *value)
{
    static const char *const words[] = {
        [LOCUS_POOL_START_MIN] = "min",
        [LOCUS_POOL_START_MEAN] = "mean",
        [LOCUS_POOL_START_ZERO] = "zero",
    };

    *value = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            *start = (enum locus_pool_start)i;
            return 0;
        }
    }
    *start = LOCUS_POOL_START_AT;
    if (read_number(text, strlen(text), value) && *value <= LOCUS_POOL_START_LIMIT) {
        return 0;
    }
    return usage_error("pool", "--start: expected zero, min, mean or a count, not '%s'",
                       text);
}

static int add_members(const struct session *s, const char *const *members,
                       size_t count, size_t *added)
{
    enum locus_pool_start start;
    uint64_t value;
    int code = parse_start(s->options->start, &start, &value);

    if (code != 0) {
        return code;
    }
    int status = locus_pool_add(s->pool, members, count, start, value, added);
    return status == LOCUS_OK ? EXIT_OK : failure(s, "add", status);
}

static int run_add(const struct session *s)
{
    size_t added;
    int code = add_members(s, (const char *const *)s->arguments, s->count, &added);

    if (code != EXIT_OK) {
        return code;
    }
    if (s->options->json) {
        return print_json(json_pack("{s:I,s:I}", "added", (json_int_t)added, "given",
                                    (json_int_t)s->count));
    }
    printf("%zu of %zu added\n", added, s->count);
    return EXIT_OK;
}

static int run_remove(const struct session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        int status = locus_pool_remove(s->pool, s->arguments[i], s->options->drop);
        if (status != LOCUS_OK) {
            return failure(s, s->arguments[i], status);
        }
    }
    return EXIT_OK;
}

static int run_restore(const struct session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        int status = locus_pool_restore(s->pool, s->arguments[i], s->options->exact);
        if (status != LOCUS_OK) {
            return failure(s, s->arguments[i], status);
        }
    }
    return EXIT_OK;
}

static const char *state_word(enum locus_pool_state state)
{
    static const char *const words[] = {
        [LOCUS_POOL_LIVE] = "live",
        [LOCUS_POOL_REMOVED] = "removed",
        [LOCUS_POOL_UNHEALTHY] = "unhealthy",
    };
    return words[state];
}

static int run_report(const struct session *s)
{
    enum locus_pool_state state;
    bool success = s->count == 2 && strcmp(s->arguments[1], "ok") == 0;

    if (s->count != 2 || (!success && strcmp(s->arguments[1], "fail") != 0)) {
        return usage_error("pool", "report: expected MEMBER ok|fail");
    }
    int status = locus_pool_report(s->pool, s->arguments[0], success, &state);
    if (status != LOCUS_OK) {
        return failure(s, s->arguments[0], status);
    }
    if (s->options->json) {
        return print_json(json_pack("{s:s,s:s}", "member", s->arguments[0], "state",
                                    state_word(state)));
    }
    printf("%s\n", state_word(state));
    return EXIT_OK;
}

static int run_pick(const struct session *s)
{
    char(*members)[LOCUS_POOL_MEMBER_SIZE] =
        calloc((size_t)s->options->n, sizeof(*members));
    size_t picked;

    if (members == NULL) {
        fprintf(stderr, "locus pool: out of memory\n");
        return EXIT_RUNTIME;
    }
    int status = locus_pool_pick_many(s->pool, (size_t)s->options->n, members, &picked);
    int code = status == LOCUS_OK ? EXIT_OK : failure(s, "pick", status);
    for (size_t i = 0; i < picked && code == EXIT_OK; i++) {
        if (s->options->json) {
            code = print_json(json_pack("{s:s}", "member", members[i]));
        } else {
            printf("%s\n", members[i]);
        }
    }
    free(members);
    return code;
}

static int list_json(const struct locus_pool_list *list)
{
    int code = EXIT_OK;

    for (size_t i = 0; i < list->count && code == EXIT_OK; i++) {
        const struct locus_pool_member *m = &list->members[i];
        code = print_json(json_pack("{s:s,s:I,s:s,s:I,s:I}", "member", m->name, "count",
                                    (json_int_t)m->count, "state", state_word(m->state),
                                    "streak", (json_int_t)m->streak, "leases",
                                    (json_int_t)m->held));
    }
    return code;
}

static void list_table(const struct locus_pool_list *list, size_t rows)
{
    int width = 6;

    for (size_t i = 0; i < list->count; i++) {
        int length = (int)strlen(list->members[i].name);
        width = length > width ? length : width;
    }
    printf("%-*s %16s %8s %s\n", width, "member", "count", "leases", "state");
    for (size_t i = 0; i < list->count && i < rows; i++) {
        const struct locus_pool_member *m = &list->members[i];
        printf("%-*s %16" PRIu64 " %8" PRIu64 " %s\n", width, m->name, m->count,
               m->held, state_word(m->state));
    }
    if (rows < list->count) {
        printf("... %zu more\n", list->count - rows);
    }
}

static int run_list(const struct session *s)
{
    struct locus_pool_list *list;
    int status = locus_pool_list(s->pool, &list);
    int code = EXIT_OK;

    if (status != LOCUS_OK) {
        return failure(s, "list", status);
    }
    if (s->options->json) {
        code = list_json(list);
    } else if (list->count > 0) {
        list_table(list, SIZE_MAX);
    }
    locus_pool_list_free(list);
    return code;
}

struct totals {
    uint64_t states[3], count, lowest, highest, leases;
};

static struct totals total(const struct locus_pool_list *list)
{
    struct totals t = {.lowest = UINT64_MAX};

    for (size_t i = 0; i < list->count; i++) {
        const struct locus_pool_member *m = &list->members[i];
        t.states[m->state]++;
        t.leases += m->held;
        if (m->state == LOCUS_POOL_LIVE) {
            t.count += m->count;
            t.lowest = m->count < t.lowest ? m->count : t.lowest;
            t.highest = m->count > t.highest ? m->count : t.highest;
        }
    }
    t.lowest = t.states[LOCUS_POOL_LIVE] == 0 ? 0 : t.lowest;
    return t;
}

static int run_stats(const struct session *s)
{
    struct locus_pool_list *list;
    int status = locus_pool_list(s->pool, &list);

    if (status != LOCUS_OK) {
        return failure(s, "stats", status);
    }
    struct totals t = total(list);
    locus_pool_list_free(list);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"live", t.states[LOCUS_POOL_LIVE]},
        {"removed", t.states[LOCUS_POOL_REMOVED]},
        {"unhealthy", t.states[LOCUS_POOL_UNHEALTHY]},
        {"count", t.count},
        {"lowest", t.lowest},
        {"highest", t.highest},
        {"leases", t.leases},
    };
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!s->options->json) {
            printf("%-10s %16" PRIu64 "\n", rows[i].name, rows[i].value);
        } else if (json_object_set_new(object, rows[i].name,
                                       json_integer((json_int_t)rows[i].value)) != 0) {
            json_decref(object);
            return print_json(NULL);
        }
    }
    if (s->options->json) {
        return print_json(object);
    }
    json_decref(object);
    return EXIT_OK;
}

static int run_acquire(const struct session *s)
{
    struct locus_lease lease;
    int status = locus_lease_acquire(s->pool, s->options->ttl_ns, &lease);

    if (status != LOCUS_OK) {
        if (lease.id[0] != '\0') {
            fprintf(stderr, "locus pool: lease %s may be held\n", lease.id);
        }
        return failure(s, "acquire", status);
    }
    if (s->options->json) {
        return print_json(json_pack("{s:s,s:s,s:I}", "id", lease.id, "member",
                                    lease.member, "leases", (json_int_t)lease.held));
    }
    printf("%s %s\n", lease.id, lease.member);
    return EXIT_OK;
}

static int run_renew(const struct session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        int status = locus_lease_renew(s->pool, s->arguments[i], s->options->ttl_ns);
        if (status != LOCUS_OK) {
            return failure(s, s->arguments[i], status);
        }
    }
    return EXIT_OK;
}

static int run_release(const struct session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        int status = locus_lease_release(s->pool, s->arguments[i], NULL);
        if (status != LOCUS_OK) {
            return failure(s, s->arguments[i], status);
        }
    }
    return EXIT_OK;
}

static int run_limit(const struct session *s)
{
    uint64_t limit;

    if (s->count != 2 ||
        !read_number(s->arguments[1], strlen(s->arguments[1]), &limit) ||
        limit > 1 << 20) {
        return usage_error("pool", "limit: expected MEMBER N, N at most 1048576");
    }
    int status = locus_lease_set_limit(s->pool, s->arguments[0], (uint32_t)limit);
    return status == LOCUS_OK ? EXIT_OK : failure(s, s->arguments[0], status);
}

static int run_rebase(const struct session *s)
{
    int status = locus_pool_rebase(s->pool);

    return status == LOCUS_OK ? EXIT_OK : failure(s, "rebase", status);
}

static int run_clear(const struct session *s)
{
    int status = locus_pool_clear(s->pool);

    return status == LOCUS_OK ? EXIT_OK : failure(s, "clear", status);
}

/* ---- import ---------------------------------------------------------------------- */

static int report_import(const struct session *s, const struct import *import,
                         size_t added)
{
    if (s->options->json) {
        json_t *reasons = json_object();
        for (size_t i = 0; i < import->reason_count; i++) {
            json_object_set_new(reasons, import->reasons[i].reason,
                                json_integer((json_int_t)import->reasons[i].count));
        }
        return print_json(json_pack(
            "{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "lines", (json_int_t)import->lines,
            "eligible", (json_int_t)import->count, "added", (json_int_t)added,
            "refused", (json_int_t)import->refused, "duplicates",
            (json_int_t)import->duplicates, "malformed", (json_int_t)import->malformed,
            "reasons", reasons));
    }
    printf("%zu eligible, %zu added; %" PRIu64 " refused, %" PRIu64
           " duplicates, %" PRIu64 " malformed\n",
           import->count, added, import->refused, import->duplicates,
           import->malformed);
    for (size_t i = 0; i < import->reason_count; i++) {
        printf("%8" PRIu64 "  %s\n", import->reasons[i].count,
               import->reasons[i].reason);
    }
    return EXIT_OK;
}

static int read_candidates(const struct session *s, struct locus_eligibility *rules,
                           struct import *import)
{
    const char *path = s->arguments[0];
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(path, "re");

    if (in == NULL) {
        fprintf(stderr, "locus pool: %s: cannot open: %s\n", path, strerror(errno));
        return EXIT_RUNTIME;
    }
    int code =
        import_read(in, is_stdin ? "stdin" : path,
                    (enum import_format)s->options->format, rules, stderr, import);
    if (!is_stdin) {
        fclose(in);
    }
    if (code == EXIT_OK && import->malformed > s->options->max_bad) {
        fprintf(stderr, "locus pool: %s: %" PRIu64 " malformed lines, nothing added\n",
                path, import->malformed);
        code = EXIT_BAD_DATA;
    }
    return code;
}

static int run_import(const struct session *s)
{
    const struct pool_options *o = s->options;
    const struct locus_eligibility_config config = {
        .schemes = o->schemes,
        .ports = o->ports,
        .allow = o->allow,
        .deny = o->deny,
        .only_allowed = o->only_allowed,
        .names = o->names,
    };
    struct locus_eligibility *rules;
    struct import import = {0};
    char why[200] = "out of memory";
    size_t added = 0;

    if (s->count != 1) {
        return usage_error("pool", "import: expected one FILE, or -");
    }
    if (locus_eligibility_create(&config, &rules, why, sizeof(why)) != LOCUS_OK) {
        return usage_error("pool", "%s", why);
    }
    int code = read_candidates(s, rules, &import);
    locus_eligibility_destroy(rules);
    if (code == EXIT_OK && import.count > 0 && !o->dry_run) {
        code =
            add_members(s, (const char *const *)import.members, import.count, &added);
    } else if (code == EXIT_OK && o->dry_run && !o->json) {
        for (size_t i = 0; i < import.count; i++) {
            printf("%s\n", import.members[i]);
        }
    }
    if (code == EXIT_OK) {
        code = report_import(s, &import, added);
    }
    import_free(&import);
    return code;
}

/* ---- watch ----------------------------------------------------------------------- */

static void watch_once(const struct session *s, const struct locus_pool_list *list,
                       uint64_t rate)
{
    struct totals t = total(list);
    bool terminal = isatty(STDOUT_FILENO) == 1;

    if (terminal) {
        fputs("\033[H\033[J", stdout);
    }
    printf("%s: %" PRIu64 " live, %" PRIu64 " removed, %" PRIu64 " unhealthy; %" PRIu64
           " picks/s; spread %" PRIu64 "; %" PRIu64 " leases\n",
           s->options->name, t.states[LOCUS_POOL_LIVE], t.states[LOCUS_POOL_REMOVED],
           t.states[LOCUS_POOL_UNHEALTHY], rate, t.highest - t.lowest, t.leases);
    if (list->count > 0) {
        list_table(list, terminal ? 20 : SIZE_MAX);
    }
    fflush(stdout);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Counts fall when members leave or are rebased: no rate then, rather than a wrong one. */
static uint64_t rate_of(uint64_t before, uint64_t after, uint64_t time_ns)
{
    return after > before && time_ns > 0
               ? (uint64_t)((double)(after - before) * 1e9 / (double)time_ns)
               : 0;
}

static int run_watch(const struct session *s)
{
    const struct timespec pause = {
        .tv_sec = (time_t)(s->options->interval_ns / NS_PER_S),
        .tv_nsec = (long)(s->options->interval_ns % NS_PER_S),
    };
    uint64_t before = 0, seen_ns = 0;

    progress_catch_interrupt();
    for (uint64_t round = 1; progress_stop == 0; round++) {
        struct locus_pool_list *list;
        int status = locus_pool_list(s->pool, &list);
        if (status != LOCUS_OK) {
            return failure(s, "watch", status);
        }
        uint64_t now_ns = clock_ns();
        uint64_t after = total(list).count;
        int code = EXIT_OK;
        if (s->options->json) {
            code = list_json(list);
        } else {
            watch_once(s, list,
                       seen_ns != 0 ? rate_of(before, after, now_ns - seen_ns) : 0);
        }
        locus_pool_list_free(list);
        if (code != EXIT_OK || ferror(stdout) || round == s->options->rounds) {
            return code;
        }
        before = after;
        seen_ns = now_ns;
        nanosleep(&pause, NULL);
    }
    return EXIT_OK;
}

/* ---- the command ----------------------------------------------------------------- */

static const struct subcommand {
    const char *name;
    size_t least, most; /* arguments */
    const char *expected;
    int (*run)(const struct session *s);
} subcommands[] = {
    {"add", 1, SIZE_MAX, "MEMBER...", run_add},
    {"remove", 1, SIZE_MAX, "MEMBER...", run_remove},
    {"restore", 1, SIZE_MAX, "MEMBER...", run_restore},
    {"import", 1, 1, "one FILE, or -", run_import},
    {"pick", 0, 0, "no argument", run_pick},
    {"list", 0, 0, "no argument", run_list},
    {"stats", 0, 0, "no argument", run_stats},
    {"report", 2, 2, "MEMBER ok|fail", run_report},
    {"acquire", 0, 0, "no argument", run_acquire},
    {"renew", 1, SIZE_MAX, "ID...", run_renew},
    {"release", 1, SIZE_MAX, "ID...", run_release},
    {"limit", 2, 2, "MEMBER N", run_limit},
    {"rebase", 0, 0, "no argument", run_rebase},
    {"clear", 0, 0, "no argument", run_clear},
    {"watch", 0, 0, "no argument", run_watch},
};

static const char description[] =
    "A pool that workers share: each pick takes the live member that was allocated the "
    "fewest times so far, ties by name, and counts it, in one step on the Redis "
    "server. "
    "Leases are another life cycle: they end by release or by their deadline.\n"
    "\n"
    "  add MEMBER...        any words; twice is once\n"
    "  remove MEMBER...     taken out, count kept; --drop: nothing kept\n"
    "  restore MEMBER...    back, not below the live minimum; --exact\n"
    "  import FILE          candidates as text, CSV or JSON lines\n"
    "  pick [-n N]          one member a line\n"
    "  list                 members with counts, leases and states\n"
    "  stats                sums over them\n"
    "  report MEMBER ok|fail   of a request; enough of them move it\n"
    "  acquire              a lease: its id and its member\n"
    "  renew ID...          its deadline is --ttl from now\n"
    "  release ID...        it ends; ending it twice is no error\n"
    "  limit MEMBER N       leases of this one; 0: as --limit says\n"
    "  rebase               the lowest count off everybody\n"
    "  clear                deletes the pool\n"
    "  watch                a live table\n"
    "\n"
    "Ends with 4 when there is nothing to give: no live member, or all at their "
    "limits.";

static const char examples[] =
    "# three members, and who is next\n"
    "export LOCUS_POOL_URI=redis://127.0.0.1/0\n"
    "locus pool --pool web add 192.0.2.1:80 192.0.2.2:80 192.0.2.3:80\n"
    "locus pool --pool web pick\n"
    "# what would be let in of a list, and why not the rest\n"
    "locus pool --dry-run --schemes http,https import list.csv\n"
    "# hold the least used member for the time of a command\n"
    "read -r id member <<EOF\n"
    "$(locus pool --pool web acquire --ttl 10min)\n"
    "EOF\n"
    "locus pool --pool web release \"$id\"\n";

static int open_pool(const struct pool_options *o, struct locus_pool **pool)
{
    const struct locus_pool_config config = {
        .total_timeout_ns = o->timeout_ns,
        .command_timeout_ns = o->timeout_ns,
        .connect_timeout_ns = o->timeout_ns,
        .connections = 1,
        .fail = o->fail == 1 ? LOCUS_POOL_FAIL_OPEN : LOCUS_POOL_FAIL_CLOSED,
        .fail_after = (uint32_t)o->fail_after,
        .restore_after = (uint32_t)o->restore_after,
        .min_live = (uint32_t)o->min_live,
        .lease_limit = (uint32_t)o->limit,
    };
    const char *uri = o->uri != NULL ? o->uri : getenv("LOCUS_POOL_URI");
    char why[256] = "out of memory";

    if (uri == NULL && o->dry_run) {
        uri = "mem:";
    }
    if (uri == NULL) {
        return usage_error("pool", "which pool? Give --uri, or set LOCUS_POOL_URI");
    }
    int status = locus_pool_open(uri, o->name, &config, pool, why, sizeof(why));
    if (status == LOCUS_EINVAL) {
        return usage_error("pool", "%s", why);
    }
    if (status != LOCUS_OK) {
        fprintf(stderr, "locus pool: %s\n", why);
        return EXIT_RUNTIME;
    }
    return EXIT_OK;
}

static int dispatch(struct pool_options *o, const struct arguments *arguments)
{
    struct session s = {.options = o};

    if (arguments->count == 0) {
        return usage_error("pool", "expected a subcommand such as pick");
    }
    const char *name = arguments->items[0];
    const struct subcommand *found = NULL;
    for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++) {
        if (strcmp(name, subcommands[i].name) == 0) {
            found = &subcommands[i];
        }
    }
    if (found == NULL) {
        return usage_error("pool", "no subcommand '%s'", name);
    }
    s.arguments = arguments->items + 1;
    s.count = arguments->count - 1;
    if (s.count < found->least || s.count > found->most) {
        return usage_error("pool", "%s: expected %s", name, found->expected);
    }
    int code = open_pool(o, &s.pool);
    if (code == EXIT_OK) {
        code = found->run(&s);
    }
    locus_pool_close(s.pool);
    return code;
}

static int run(int argc, char **argv)
{
    struct pool_options given = {
        .name = "default",
        .start = "min",
        .n = 1,
        .ttl_ns = 60 * NS_PER_S,
        .timeout_ns = 3 * NS_PER_S,
        .interval_ns = NS_PER_S,
        .max_bad = UINT64_MAX,
    };
    struct arguments arguments;
    int status = options_parse(&cmd_pool, argc, argv, &given, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    return dispatch(&given, &arguments);
}

const struct command cmd_pool = {
    .name = "pool",
    .summary = "share an allocation pool: picks, members, leases",
    .usage = "[options] --uri URI --pool NAME SUBCOMMAND [ARGUMENT...]",
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
