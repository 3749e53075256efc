/* SPDX-License-Identifier: MIT */
/*
 * locus pool: the shared allocation pool from the shell. What the subcommands do is in
 * shared/pool_*.c.
 */
#include "commands.h"

#include "../cli/progress.h"
#include "../cli/subcommands.h"
#include "../shared/pool_client.h"

static const char *const fail_choices[] = {"closed", "open", NULL};
static const char *const format_choices[] = {"auto", "text", "csv", "json", NULL};

#define AT(field) offsetof(struct pool_client, field)

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

static int remove_member(const struct pool_client *c, const char *member)
{
    return locus_pool_remove(c->pool, member, c->drop);
}

static int restore_member(const struct pool_client *c, const char *member)
{
    return locus_pool_restore(c->pool, member, c->exact);
}

static int renew(const struct pool_client *c, const char *id)
{
    return locus_lease_renew(c->pool, id, c->ttl_ns);
}

static int release(const struct pool_client *c, const char *id)
{
    return locus_lease_release(c->pool, id, NULL);
}

static int rebase(const struct pool_client *c)
{
    return pool_result(c, "rebase", locus_pool_rebase(c->pool));
}

static int clear(const struct pool_client *c)
{
    return pool_result(c, "clear", locus_pool_clear(c->pool));
}

static int watch(const struct pool_client *c)
{
    progress_catch_interrupt();
    return pool_watch(c, &progress_stop);
}

static const struct pool_subcommand {
    struct subcommand words;
    int (*run)(const struct pool_client *c); /* an exit_code */
    /* Instead: the same for each argument, until one fails. A locus_status. */
    int (*each)(const struct pool_client *c, const char *argument);
} subcommands[] = {
    {{"add", 1, SIZE_MAX, "MEMBER..."}, .run = pool_add},
    {{"remove", 1, SIZE_MAX, "MEMBER..."}, .each = remove_member},
    {{"restore", 1, SIZE_MAX, "MEMBER..."}, .each = restore_member},
    {{"import", 1, 1, "one FILE, or -"}, .run = pool_import},
    {{"pick", 0, 0, "no argument"}, .run = pool_pick},
    {{"list", 0, 0, "no argument"}, .run = pool_list},
    {{"stats", 0, 0, "no argument"}, .run = pool_stats},
    {{"report", 2, 2, "MEMBER ok|fail"}, .run = pool_report},
    {{"acquire", 0, 0, "no argument"}, .run = pool_acquire},
    {{"renew", 1, SIZE_MAX, "ID..."}, .each = renew},
    {{"release", 1, SIZE_MAX, "ID..."}, .each = release},
    {{"limit", 2, 2, "MEMBER N"}, .run = pool_limit},
    {{"rebase", 0, 0, "no argument"}, .run = rebase},
    {{"clear", 0, 0, "no argument"}, .run = clear},
    {{"watch", 0, 0, "no argument"}, .run = watch},
    {{.name = NULL}, .run = NULL},
};

static const char description[] =
    "A pool that workers share: each pick takes the live member that was allocated the "
    "fewest times so far, ties by name, and counts it, in one step on the Redis "
    "server. Leases are another life cycle: they end by release or by their deadline.\n"
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

static int run(int argc, char **argv)
{
    struct pool_client client = {
        .name = "default",
        .start = "min",
        .n = 1,
        .ttl_ns = 60 * NS_PER_S,
        .timeout_ns = 3 * NS_PER_S,
        .interval_ns = NS_PER_S,
        .max_bad = UINT64_MAX,
    };
    struct arguments arguments;
    int status = options_parse(&cmd_pool, argc, argv, &client, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    const struct pool_subcommand *subcommand = subcommand_find(
        "pool", "pick", &arguments, subcommands, sizeof(subcommands[0]));
    if (subcommand == NULL) {
        return EXIT_USAGE;
    }
    client.arguments = arguments.items + 1;
    client.count = arguments.count - 1;
    int code = pool_client_open(&client);
    if (code == EXIT_OK && subcommand->run != NULL) {
        code = subcommand->run(&client);
    }
    for (size_t i = 0; code == EXIT_OK && subcommand->each != NULL && i < client.count;
         i++) {
        const char *argument = client.arguments[i];
        code = pool_result(&client, argument, subcommand->each(&client, argument));
    }
    locus_pool_close(client.pool);
    return code;
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
