/* SPDX-License-Identifier: MIT */
/*
 * locus drive: runs one script of events through one scheduler and prints its decisions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <locus/locus.h>

#include "command.h"
#include "drive/drive.h"

struct drive_options {
    const char *rules;
};

static const struct option_spec options[] = {
    {
        .name = "rules",
        .letter = 'r',
        .type = OPTION_STRING,
        .offset = offsetof(struct drive_options, rules),
        .metavar = "NAME",
        .help =
            "The rule set to decide by: kernel (Linux since mid-2026, the default), "
            "kernel-classic (before that) or article (LBLC and LBLCR as published).",
    },
    {.name = NULL},
};

static const char description[] =
    "Runs a script of events through one scheduler, on a clock of its own, and prints "
    "each "
    "decision: the same script always gives the same bytes. SCRIPT '-' is the standard "
    "input. One event a line, words between blanks, '#' starts a comment:\n"
    "\n"
    "  set KEY VALUE                   a setting, see below\n"
    "  sched NAME [fallback] [port]    the service and its scheduler; later: change "
    "it\n"
    "  server ID W [U L] [ADDR:PORT]   add a server: weight, upper and lower "
    "threshold\n"
    "  weight ID W                     change its weight; 0 lets nothing new in\n"
    "  edit ID W U L                   change weight and thresholds; 0 0: none\n"
    "  del ID                          delete it; its connections stay\n"
    "  time S[.frac], at S[.frac]      move the clock by, or to, so many seconds\n"
    "  jiffies N                       move it by N jiffies exactly\n"
    "  conn CID DST [SRC [SPORT]]      a new connection: prints 'CID ID' or 'CID -'\n"
    "  est CID, fin CID                it is established; its client ends it\n"
    "  pkt CID in|out syn|ack|fin|rst  one TCP packet, from the client or to it\n"
    "  close CID                       it is gone\n"
    "  dump [raw]                      the scheduler's state; raw: in its chains' "
    "order\n"
    "  stat                            all servers, deleted ones that linger behind "
    "'trash'\n"
    "  print WORDS                     '# WORDS'\n"
    "\n"
    "Settings; those marked * must come before the first sched:\n"
    "\n"
    "  hz N *                          jiffies in a second, 250\n"
    "  jiffies0 N *                    the first jiffy, 0\n"
    "  proto tcp|udp|manual *          tcp: active from the first packet to the FIN; "
    "udp:\n"
    "                                  never; manual: from est to fin\n"
    "  fwd masq|dr|tun                 how servers added or changed from here on "
    "answer\n"
    "  lblc_expiration S               idle time of destinations, a day; also\n"
    "                                  lblcr_expiration, and _jiffies behind both\n"
    "  seed N *                        of the random scheduler twos, 0\n"
    "  wheel 0|1 *                     round periodic work as the kernel's timer "
    "wheel\n"
    "  echo 0|1                        print every event behind '> '\n"
    "\n"
    "In dump and stat '!' marks a deleted server. What a kernel would refuse is "
    "printed as "
    "'err EVENT ID ERRNO' and changes nothing. est, fin, pkt and close of a connection "
    "that "
    "is not open are ignored. A line that is none of the above ends the run with exit "
    "code 2 and a message that names it.";

static const char examples[] =
    "# three servers under least connection, two clients\n"
    "printf 'sched lc\\nserver 1 1\\nserver 2 1\\nconn 1 10.0.0.1\\n' | locus drive -\n"
    "# the same script as an older kernel decides it\n"
    "locus drive --rules kernel-classic script.ev\n";

static int usage_rules(const char *name)
{
    char known[128] = "";

    for (size_t i = 0; locus_rules_name(i) != NULL; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, " %s", locus_rules_name(i));
    }
    return usage_error("drive", "--rules: expected one of%s, not '%s'", known, name);
}

static int run_script(const char *path, const struct locus_rules *rules)
{
    if (strcmp(path, "-") == 0) {
        return drive_run(stdin, "stdin", stdout, stderr, rules, DRIVE_CLOCK_LIMIT_S);
    }
    FILE *in = fopen(path, "re");
    if (in == NULL) {
        fprintf(stderr, "locus drive: %s: cannot open: %s\n", path, strerror(errno));
        return EXIT_RUNTIME;
    }
    int code = drive_run(in, path, stdout, stderr, rules, DRIVE_CLOCK_LIMIT_S);
    fclose(in);
    return code;
}

static int run(int argc, char **argv)
{
    struct drive_options given = {.rules = NULL};
    struct arguments arguments;
    int status = options_parse(&cmd_drive, argc, argv, &given, &arguments);

    if (status != 0) {
        return status < 0 ? EXIT_OK : status;
    }
    const struct locus_rules *rules = locus_rules_find(given.rules);
    if (rules == NULL) {
        return usage_rules(given.rules);
    }
    if (arguments.count != 1) {
        return usage_error("drive", "expected one SCRIPT, not %zu", arguments.count);
    }
    return run_script(arguments.items[0], rules);
}

const struct command cmd_drive = {
    .name = "drive",
    .summary = "Decide a script of events, byte for byte repeatable",
    .usage = "[--rules NAME] SCRIPT",
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
