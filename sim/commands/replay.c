/* SPDX-License-Identifier: MIT */
/*
 * locus replay: one trace, many policies, side by side.
 */
#include "commands.h"

#include "../cli/progress.h"
#include "../replay/replay.h"

#define AT(field) offsetof(struct replay_args, field)

static const struct option_spec options[] = {
    OPT_TEXT("policy", 'p', AT(policies), "LIST",
             "Policies, separated by commas; sh and mh take flags: mh:fallback:port; "
             "chbl its factor: chbl:1.25; wlc@8: by 8 directors, each with counts of "
             "its own. Default: " DEFAULT_POLICIES ", and what the pool file says."),
    OPT_GROUP(setup_options, AT(setup)),
    OPT_CHOICE("director-by", 0, AT(director_by), replay_directors,
               "What decides which of several directors has a connection: connection "
               "(default, as a router spreads them), client (as each node of "
               "kube-proxy has its own), destination (so that one of them learns it)."),
    OPT_FLAG("stagger", 0, AT(stagger),
             "Directors list the servers from different ones on, so that not all take "
             "the same among equals."),
    OPT_TEXT("scenario", 0, AT(scenario), "FILE",
             "What happens meanwhile, a line each: TIME weight SERVER N | add SERVER N "
             "| remove SERVER | fail SERVER | restore SERVER | break SERVER (answers "
             "at once, with errors, and passes its checks) | mend SERVER | thresholds "
             "SERVER UPPER LOWER | guard N or N% | scheduler NAME."),
    OPT_TEXT("pool-uri", 0, AT(pool_uri), "URI",
             "Where leastalloc keeps its counts, as of 'locus pool': mem: (the "
             "default), or redis://[[user]:password@]host[:port][/db], or "
             "redis+unix:///path, which is slower and picks the same. Its pool there "
             "is a new one, locus-replay-PID-RANDOM, removed in the end; by the server "
             "a day after a run that was killed."),
    OPT_TIME(
        "expiration", 0, AT(expiration_ns), 0, 0,
        "Destinations idle for so long are forgotten by lblc and lblcr (default 24h)."),
    OPT_NUMBER("max-entries", 0, AT(max_entries), "N", 1, 1u << 27,
               "Bound on the destinations that lblc and lblcr remember (default: as "
               "the rules say)."),
    OPT_FLAG("replace", 0, AT(replace),
             "When that many are remembered, a new one takes the place of one that was "
             "not asked for lately, as by the rules locus (default: it is not "
             "remembered, as with IPVS)."),
    OPT_TEXT("save", 0, AT(save), "FILE",
             "What the policy, lblc or lblcr alone, has learnt in the end: which "
             "servers are each destination's."),
    OPT_TEXT("load", 0, AT(load), "FILE",
             "Begins with what --save wrote, as if this trace followed that one at "
             "once: a director that was restarted. Servers are known by their "
             "addresses; caches and all figures begin anew."),
    OPT_CHOICE(
        "no-server", 0, AT(no_server), replay_no_server,
        "When no server is available: refuse (default, as IPVS), bypass (counts as "
        "refused, but says so in --decisions: the client is to go to the destination "
        "itself), any (an overloaded or quiesced one all the same)."),
    OPT_NUMBER("capacity", 0, AT(capacity), "N", 1, LOCUS_WEIGHT_MAX,
               "Connections above which lblc and lblcr leave a server, of all servers "
               "that have no own (default: the weight, as IPVS). liblocus' alone."),
    OPT_TIME("slow-start", 0, AT(slow_start_ns), 0, 0,
             "A server that a scenario adds or restores, or whose weight it raises, "
             "takes its share over so long, by wlc, sed, nq, twos, p2c, chbl, lblc and "
             "lblcr; connections should be shorter (default: at once, as IPVS; 24h at "
             "most). liblocus' alone."),
    OPT_NUMBER("slow-start-exponent", 0, AT(slow_start_exponent), "N", 1, 8,
               "Its share grows with that power of the time: 1 (default) evenly, up to "
               "8, late."),
    OPT_NUMBER("slow-start-floor", 0, AT(slow_start_floor), "PERCENT", 1, 100,
               "The part of its share that it has at once (default 10)."),
    OPT_FLAG("json", 'j', AT(json), "JSON instead of the table."),
    OPT_FLAG("csv", 0, AT(csv), "CSV instead of the table."),
    OPT_FLAG("per-server", 0, AT(per_server),
             "Each server's shares too, in the table and in --metrics."),
    OPT_TEXT("html", 0, AT(html), "FILE", "A page with charts, in one file."),
    OPT_TEXT("svg", 0, AT(svg), "FILE",
             "A picture: locality against imbalance, and each server's connections "
             "over time."),
    OPT_TEXT("timeline", 0, AT(timeline), "FILE",
             "The course as CSV: per interval, policy and server."),
    OPT_TIME("interval", 0, AT(interval_ns), 1, 0,
             "Of --timeline, --html and --svg (default: some 200 over the trace)."),
    OPT_TEXT(
        "decisions", 0, AT(decisions), "FILE",
        "Every pick and why, as CSV: policy,time_us,destination,server,why,cache."),
    OPT_TEXT("metrics", 0, AT(metrics), "FILE",
             "The figures as Prometheus text. One of these five files may be '-': "
             "stdout, in the table's place."),
    OPT_NUMBER("width", 0, AT(width), "N", 40, 1000,
               "Columns of the table (default: the terminal's, else 80)."),
    OPT_FLAG("timing", 0, AT(timing),
             "CPU time per connection of each policy, on stderr."),
    OPT_GROUP(read_options, AT(read)),
    OPT_END,
};

static int run(int argc, char **argv)
{
    struct replay replay = {
        .args =
            {
                .setup = SETUP_ARGS_DEFAULT,
                .read = READ_ARGS_DEFAULT,
                .expiration_ns = 86400 * (uint64_t)1000000000,
            },
    };
    struct arguments arguments;
    int status = options_parse(&cmd_replay, argc, argv, &replay.args, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    session_init(&replay.session, "replay");
    progress_catch_interrupt();
    replay.paths = arguments.items;
    replay.path_count = arguments.count;
    status = replay_request(&replay);
    if (status == EXIT_OK) {
        status = replay_run(&replay);
    }
    if (status == EXIT_OK) {
        status = replay_result(&replay);
    }
    if (status == EXIT_OK) {
        status = replay_write(&replay);
    }
    replay_free(&replay);
    return status;
}

const struct command cmd_replay = {
    .name = "replay",
    .summary = "replay a trace under several policies and compare them",
    .usage = "[options] TRACE...",
    .description =
        "Reads logs of connections or requests, sorts them by their start, and lets "
        "each "
        "policy spread them over the servers, all side by side: what would have "
        "happened "
        "with another 'ipvsadm -s'? '-' is stdin; compressed files are read as they "
        "are. Ctrl-C ends the reading, or the replay, prints what there is and exits "
        "with "
        "1.\n"
        "\n"
        "Every policy gets a row. conns: connections given to a server. stuck: of the "
        "connections to a destination seen before, how many went where the previous "
        "one "
        "went; warm: how many went to any server that knows the destination, which is "
        "what "
        "a cache sees. moves: how many went to a server that did not, though one that "
        "did "
        "was available. imbal: the highest load over the mean load (load is active "
        "connections divided by weight), averaged over time; 1.00 is even. imbal/c: "
        "the "
        "same "
        "averaged over connections, so that idle times count little. repl: servers per "
        "destination. peak: most active connections on one server. above: how much "
        "of "
        "the time servers had more of them than their weight. Wider terminals show "
        "more.\n"
        "\n"
        "With --scenario a table for each phase, before, during and after, follows. "
        "cut: "
        "connections that were active on a server that was removed or failed, none "
        "where it was drained first. even in: the time from the phase's beginning "
        "until "
        "the imbalance was what it had been before, a tenth more at most.\n"
        "\n"
        "High stuck and warm with a low imbal is what one looks for: lblc and lblcr "
        "give up "
        "locality only when a server is above its weight while another is below half "
        "of its "
        "own, so weights must mean capacity. Compare with dh, which never moves, and "
        "wlc, "
        "which knows no destinations.",
    .options = options,
    .examples =
        "# four servers, three policies\n"
        "locus replay --servers 4 --policy wlc,lblc,lblcr access.log\n"
        "# the servers that are running, and what a 10 GiB cache on each would do\n"
        "ipvsadm -S -n > pool.rules\n"
        "locus replay --pool pool.rules --cache 10GiB access.log\n"
        "# the second day, with what was learnt on the first\n"
        "locus replay --servers 4 --policy lblcr --save day1.map day1.log\n"
        "locus replay --servers 4 --policy lblcr --load day1.map day2.log\n"
        "# for a program\n"
        "locus replay --servers 10.0.0.1:80*40,10.0.0.2:80*20 --json conn.log.gz",
    .run = run,
};
