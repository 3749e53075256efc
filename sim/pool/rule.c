/* SPDX-License-Identifier: MIT */
/*
 * The options of ipvsadm: which there are, and what a command line says with them. Options
 * that have nothing to do with servers are known too, so that nobody is warned about them.
 */
#include "rule.h"

#include <string.h>

#include "../base/errors.h"

enum takes { TAKES_NOTHING, TAKES_VALUE, TAKES_MAYBE };

static const struct {
    char letter; /* 0: none */
    const char *name;
    enum takes takes;
} known[] = {
    {'A', "add-service", TAKES_NOTHING},
    {'E', "edit-service", TAKES_NOTHING},
    {'D', "delete-service", TAKES_NOTHING},
    {'C', "clear", TAKES_NOTHING},
    {'a', "add-server", TAKES_NOTHING},
    {'e', "edit-server", TAKES_NOTHING},
    {'d', "delete-server", TAKES_NOTHING},
    {'t', "tcp-service", TAKES_VALUE},
    {'u', "udp-service", TAKES_VALUE},
    {'f', "fwmark-service", TAKES_VALUE},
    {'T', "sctp-service", TAKES_VALUE}, /* no letter of ipvsadm's; ours */
    {'r', "real-server", TAKES_VALUE},
    {'w', "weight", TAKES_VALUE},
    {'x', "u-threshold", TAKES_VALUE},
    {'y', "l-threshold", TAKES_VALUE},
    {'s', "scheduler", TAKES_VALUE},
    {'p', "persistent", TAKES_MAYBE},
    {'M', "netmask", TAKES_VALUE},
    {'b', "sched-flags", TAKES_VALUE},
    {'o', "ops", TAKES_NOTHING},
    {'g', "gatewaying", TAKES_NOTHING},
    {'m', "masquerading", TAKES_NOTHING},
    {'i', "ipip", TAKES_NOTHING},
    {'6', "ipv6", TAKES_NOTHING},
    {'n', "numeric", TAKES_NOTHING},
    {'L', "list", TAKES_NOTHING},
    {'l', "list", TAKES_NOTHING},
    {'S', "save", TAKES_NOTHING},
    {'R', "restore", TAKES_NOTHING},
    {'Z', "zero", TAKES_NOTHING},
    {0, "pe", TAKES_VALUE},
    {0, "tun-type", TAKES_VALUE},
    {0, "tun-port", TAKES_VALUE},
    {0, "tun-nocsum", TAKES_NOTHING},
    {0, "tun-csum", TAKES_NOTHING},
    {0, "tun-remcsum", TAKES_NOTHING},
    {0, "exact", TAKES_NOTHING},
};
enum { KNOWN = sizeof(known) / sizeof(*known) };

static void take_option(struct rule *rule, char letter, const char *value)
{
    switch (letter) {
    case 'A':
    case 'E':
    case 'D':
    case 'C':
    case 'a':
    case 'e':
    case 'd':
        rule->command = letter;
        break;
    case 't':
    case 'u':
    case 'f':
    case 'T':
        rule->proto = letter;
        rule->service = value;
        break;
    case 'g':
    case 'm':
    case 'i':
        rule->forward = letter;
        break;
    case 's':
        rule->scheduler = value;
        break;
    case 'b':
        rule->flags = value;
        break;
    case 'r':
        rule->server = value;
        break;
    case 'w':
        rule->weight = value;
        break;
    case 'x':
        rule->upper = value;
        break;
    case 'y':
        rule->lower = value;
        break;
    default:
        break;
    }
}

static int find_letter(char letter)
{
    for (int i = 0; i < KNOWN; i++) {
        if (known[i].letter == letter && letter != 'T') {
            return i;
        }
    }
    return -1;
}

static int find_name(const char *name, size_t length)
{
    for (int i = 0; i < KNOWN; i++) {
        if (strlen(known[i].name) == length &&
            memcmp(known[i].name, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* What an option's word says. */
struct option_word {
    int option;        /* of known[]; -1: none */
    const char *value; /* joined to it; NULL: none */
    bool is_long;
};

/* The letters of "-Lnw5" one after the other; at is in front of the one that is next. */
static struct option_word option_of(const char *at, bool is_long)
{
    struct option_word o = {.is_long = is_long};

    if (is_long) {
        const char *equals = strchr(at, '=');
        o.value = equals != NULL ? equals + 1 : NULL;
        o.option = find_name(at + 2, strcspn(at + 2, "="));
    } else {
        o.value = at[2] != '\0' ? at + 2 : NULL;
        o.option = find_letter(at[1]);
    }
    return o;
}

/* words[0] is an option; returns how many words it took, 0 after an error. */
static size_t read_option(struct pool_parse *parse, struct rule *rule, char **words,
                          size_t count)
{
    const char *at = words[0];
    struct option_word o = option_of(at, at[1] == '-');

    while (o.option >= 0 && known[o.option].takes == TAKES_NOTHING) {
        take_option(rule, known[o.option].letter, NULL);
        if (o.is_long || o.value == NULL) {
            return 1;
        }
        o = option_of(++at, false);
    }
    if (o.option < 0) {
        pool_skip_word(parse, at == words[0] ? at : at + 1);
        return 1;
    }
    char letter = known[o.option].letter;
    bool needed = known[o.option].takes == TAKES_VALUE;
    if (o.value != NULL) {
        take_option(rule, letter, o.value);
        return 1;
    }
    if (count > 1 && (words[1][0] != '-' || needed)) {
        take_option(rule, letter, words[1]);
        return 2;
    }
    if (needed) {
        pool_error(parse, "%s needs a value", words[0]);
        return 0;
    }
    return 1;
}

int rule_read(struct pool_parse *parse, char **words, size_t count, struct rule *rule)
{
    for (size_t i = 0; i < count;) {
        if (words[i][0] != '-' || words[i][1] == '\0') {
            /* ipvsadm 1.26 wrote "pe sip" and "ops" without dashes. */
            if (strcmp(words[i], "pe") == 0) {
                i++;
            } else if (strcmp(words[i], "ops") != 0) {
                pool_skip_word(parse, words[i]);
            }
            i++;
            continue;
        }
        size_t taken = read_option(parse, rule, words + i, count - i);
        if (taken == 0) {
            return EXIT_USAGE;
        }
        i += taken;
    }
    return EXIT_OK;
}
