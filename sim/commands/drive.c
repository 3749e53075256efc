/* SPDX-License-Identifier: MIT */
/*
 * locus drive: runs one script of events through one scheduler and prints its decisions.
 */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <locus/locus.h>

#include "../drive/drive.h"

struct drive_options {
    const char *rules;
};

#define AT(field) offsetof(struct drive_options, field)

static const struct option_spec options[] = {
    OPT_TEXT("rules", 'r', AT(rules), "NAME",
             "The rule set to decide by: kernel (Linux since mid-2026, the default), "
             "kernel-classic (before that), article (LBLC and LBLCR as published) or "
             "locus (what locus.h recommends)."),
    OPT_END,
};

static const char description[] =
    "Runs a script of events through one scheduler, on a clock of its own, and prints "
    "each decision: the same script always gives the same bytes. SCRIPT '-' is the "
    "standard input. One event a line, words between blanks, '#' starts a comment:\n"
    "\n"
    "  set KEY VALUE                   a setting, see below\n"
    "  sched NAME [fallback] [port]    the scheduler; first: the service\n"
    "  server ID W [U L] [ADDR:PORT]   add a server: weight, thresholds\n"
    "  weight ID W                     change its weight; 0: nothing new\n"
    "  edit ID W U L                   change weight and thresholds\n"
    "  del ID                          delete it; its connections stay\n"
    "  time S[.frac]                   move the clock by so many seconds\n"
    "  at S[.frac]                     move it to so many seconds\n"
    "  jiffies N                       move it by N jiffies exactly\n"
    "  conn CID DST [SRC [SPORT]]      prints 'CID ID'; 'CID -': refused\n"
    "  est CID                         it is established\n"
    "  fin CID                         its client ends it\n"
    "  pkt CID in|out syn|ack|fin|rst  a TCP packet from or to its client\n"
    "  close CID                       it is gone\n"
    "  dump [raw]                      scheduler's state; raw: as chained\n"
    "  stat                            servers, then deleted ones in use\n"
    "  print WORDS                     prints '# WORDS'\n"
    "\n"
    "Settings; those with a star must come before the first sched:\n"
    "\n"
    "  hz N *                          jiffies in a second; 250\n"
    "  jiffies0 N *                    the first jiffy; 0\n"
    "  proto tcp|udp|manual *          active up to the FIN; never; from est\n"
    "                                  to fin\n"
    "  fwd masq|dr|tun                 how servers added from now on answer\n"
    "  lblc_expiration S               idle time of a destination; 86400\n"
    "  lblcr_expiration S              the same for lblcr\n"
    "  lblc_expiration_jiffies N       the first in jiffies\n"
    "  lblcr_expiration_jiffies N      the second in jiffies\n"
    "  seed N                          of the dice of twos; 0\n"
    "  wheel 0|1                       round timers as the kernel does; 0\n"
    "  echo 0|1                        print every event behind '> '; 0\n"
    "\n"
    "ID is a number up to 16777215 and stands for 10.0.0.0 plus ID, port 80, unless an "
    "address is given. DST and SRC are IPv4 addresses or numbers. A '!' marks a "
    "deleted server. What a kernel would refuse is printed as 'err EVENT ID ERRNO' and "
    "changes nothing. est, fin, pkt and close of a connection that is not open are "
    "ignored. A line that is none of the above ends the run with exit code 2 and a "
    "message that names it.";

static const char examples[] =
    "# two servers of equal weight: the newer one is taken first\n"
    "printf 'sched wlc\\nserver 1 1\\nserver 2 1\\nconn 1 10.0.0.1\\n' |\n"
    "    locus drive -\n"
    "# a script as an older kernel decides it\n"
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
    .summary = "decide a script of events, byte for byte repeatable",
    .usage = "[--rules NAME] SCRIPT",
    .description = description,
    .options = options,
    .examples = examples,
    .run = run,
};
