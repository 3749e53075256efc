/* SPDX-License-Identifier: MIT */
/*
 * Pools as operators have them. Each case is a file's text and what must come of it, written
 * as "ADDRESS*WEIGHT[<UPPER,LOWER>][(ACTIVE,INACTIVE)]" a server and "@SECONDS kind server" an
 * event; NULL where it must be refused.
 */
#include "../suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "pool/file.h"
#include "pool/scenario.h"

struct pool_case {
    const char *text;
    const char *service;
    bool reverse;
    const char *expected;
};

static const struct pool_case cases[] = {
    /* ipvsadm -S -n */
    {"-A -t 10.0.0.1:80 -s lblc\n"
     "-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 3\n"
     "-a -t 10.0.0.1:80 -r 10.1.0.2:8080 -g -w 0 -x 100 -y 50\n",
     NULL, false, "10.1.0.1:80*3 10.1.0.2:8080*0<100,50>"},
    /* A script: paths, sudo, long options, joined values, defaults, edits, deletes, junk. */
    {"#!/bin/sh\n\nset -e\n/sbin/ipvsadm -C\n"
     "sudo ipvsadm --add-service --tcp-service=10.0.0.1:80 --scheduler wlc -p 300\n"
     "ipvsadm -a -t 10.0.0.1:80 -r 10.1.0.1 -w5 --tun-type gue --tun-port 6080\n"
     "ipvsadm -a -t 10.0.0.1:80 -r 10.1.0.2 -i # weight 1\n"
     "ipvsadm -a -t 10.0.0.1:80 -r 10.1.0.3\n"
     "ipvsadm -e -t 10.0.0.1:80 -r 10.1.0.2 -w 70000\n"
     "ipvsadm -d -t 10.0.0.1:80 -r 10.1.0.3\n"
     "ipvsadm --set 900 120 300\nipvsadm -Ln\n",
     NULL, false, "10.1.0.1:80*5 10.1.0.2:80*70000"},
    /* A replay keeps something for each connection of a table, so that there is a bound. */
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"
     "TCP  10.0.0.1:80 lblc\n"
     "  -> 10.1.0.1:80 Masq 1 2147483647 0\n",
     NULL, false, NULL},
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"
     "TCP  10.0.0.1:80 lblc\n"
     "  -> 10.1.0.1:80 Masq 1 5000000 4999998\n  -> 10.1.0.2:80 Masq 1 2 1\n",
     NULL, false, NULL},
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"
     "TCP  10.0.0.1:80 lblc\n"
     "  -> 10.1.0.1:80 Masq 1 5000000 4999998\n  -> 10.1.0.2:80 Masq 1 1 1\n"
     "UDP  10.0.0.1:80 lblc\n  -> 10.1.0.1:80 Masq 1 1 1\n",
     "tcp 10.0.0.1:80", false, "10.1.0.1:80*1(5000000,4999998) 10.1.0.2:80*1(1,1)"},
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port Forward Weight ActiveConn InActConn\n"
     "TCP  10.0.0.1:80 lblc\n"
     "  -> 10.1.0.1:80 Masq 1 6000000 0\n"
     "Prot LocalAddress:Port            Uthreshold Lthreshold ActiveConn InActConn\n"
     "  -> RemoteAddress:Port\nTCP  10.0.0.1:80   lblc\n"
     "  -> 10.1.0.1:80 9 8 6000000 0\n",
     NULL, false, "10.1.0.1:80*1<9,8>(6000000,0)"},
    /* Behind a sleep, commands are events. */
    {"-A -f 1 -s lblcr\n-a -f 1 -r 10.1.0.1:0 -w 2\nsleep 60\n-e -f 1 -r 10.1.0.1:0 -w "
     "4\n"
     "sleep 1m\n-a -f 1 -r 10.1.0.9:0 -w 6\n-d -f 1 -r 10.1.0.1:0\n",
     NULL, false,
     "10.1.0.1*2 10.1.0.9*6later @60 weight 0 @60 thresholds 0 @120 add 1 @120 "
     "remove 0"},
    {"-A -f 1 -s lblcr\n-a -f 1 -r 10.1.0.1:0 -w 2\nsleep 60\n-E -f 1 -s wlc\n", NULL,
     false, "10.1.0.1*2 @60 scheduler 0"},
    {"-A -f 1 -s lblcr\n-a -f 1 -r 10.1.0.1:0 -w 2\nsleep 60\n-E -f 1 -s best\n", NULL,
     false, NULL},
    /* ipvsadm 1.26 without dashes; IPv6; names. */
    {"-A -t [2001:db8::1]:80 -s wlc -p 360 pe sip ops\n"
     "-a -t [2001:db8::1]:80 -r [2001:db8::2]:80 -m -w 2\n"
     "-a -t [2001:db8::1]:80 -r web-1.example:http -m -w 2\n",
     NULL, false, NULL},
    {"-A -t [2001:db8::1]:80 -s wlc -p 360 pe sip ops\n"
     "-a -t [2001:db8::1]:80 -r [2001:db8::2]:80 -m -w 2\n"
     "-a -t [2001:db8::1]:80 -r web-1.example:80 -m -w 2\n",
     NULL, false, "[2001:db8::2]:80*2 web-1.example:80*2"},
    /* Several services. */
    {"-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1:80\n-A -u 10.0.0.1:53\n"
     "-a -u 10.0.0.1:53 -r 10.1.0.2:53 -w 9\n",
     "10.0.0.1:53", false, "10.1.0.2:53*9"},
    {"-A -t 10.0.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1:80\n-A -u 10.0.0.1:53\n"
     "-a -u 10.0.0.1:53 -r 10.1.0.2:53 -w 9\n",
     NULL, false, NULL},
    /* Refused: weights out of range, servers twice or unknown, nothing. */
    {"-a -t 10.0.0.1:80 -r 10.1.0.1:80 -w 2147483648\n", NULL, false, NULL},
    {"-a -t 10.0.0.1:80 -r 10.1.0.1:80 -w -1\n", NULL, false, NULL},
    {"-a -t 10.0.0.1:80 -r 10.1.0.1:80\n-a -t 10.0.0.1:80 -r 10.1.0.1:80\n", NULL,
     false, NULL},
    {"-e -t 10.0.0.1:80 -r 10.1.0.1:80\n", NULL, false, NULL},
    {"-a -t 10.0.0.1:80 -r\n", NULL, false, NULL},
    {"-a -t 10.0.0.1:80 -r 10.1.0.256:80\n", NULL, false, NULL},
    {"-A -t 10.0.0.1:80 -s rr\n", NULL, false, NULL},
    {"", NULL, false, NULL},
    /* ipvsadm -Ln, sorted by ipvsadm: the file's order. */
    {"IP Virtual Server version 1.2.1 (size=4096)\n"
     "Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn\n"
     "TCP  10.0.0.1:80 wlc persistent 300\n"
     "  -> 10.1.0.1:80                  Masq    1      3          40        \n"
     "  -> 10.1.0.2:80                  Route   2      0          0         \n"
     "FWM  7 lblc\n"
     "  -> 10.1.0.3:0                   Tunnel  4      1          1\n",
     "10.0.0.1:80", false, "10.1.0.1:80*1(3,40) 10.1.0.2:80*2"},
    /* As the kernel has it: the newest first, so the last line was added first. */
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn\n"
     "TCP  0A000001:0050 wlc\n"
     "  -> 0A010002:0050      Masq    2      0          0\n"
     "  -> 0A010001:0050      Masq    1      0          0\n",
     NULL, false, "10.1.0.1:80*1 10.1.0.2:80*2"},
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn\n"
     "TCP  0A000001:0050 wlc\n"
     "  -> 0A010002:0x50      Masq    2      0          0\n",
     NULL, false, NULL},
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn\n"
     "TCP  0A000001:0050 wlc\n"
     "  -> 0A010002:-050      Masq    2      0          0\n",
     NULL, false, NULL},
    /* Thresholds behind the table of weights, and alone: then the trace gives weights. */
    {"Prot LocalAddress:Port Scheduler Flags\n"
     "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn\n"
     "TCP  10.0.0.1:80 wlc\n"
     "  -> 10.1.0.1:80                  Masq    5      3          40        \n"
     "Prot LocalAddress:Port            Uthreshold Lthreshold ActiveConn InActConn\n"
     "  -> RemoteAddress:Port\n"
     "TCP  10.0.0.1:80 wlc\n"
     "  -> 10.1.0.1:80                  200        100        3          40\n",
     NULL, false, "10.1.0.1:80*5<200,100>(3,40)"},
    {"Prot LocalAddress:Port            Uthreshold Lthreshold ActiveConn InActConn\n"
     "  -> RemoteAddress:Port\n"
     "TCP  10.0.0.1:80 wlc\n"
     "  -> 10.1.0.1:80                  200        100        3          40\n",
     NULL, false, "10.1.0.1:80*?<200,100>(3,40)"},
    /* ipvsadm --stats has none of it. */
    {"Prot LocalAddress:Port               Conns   InPkts  OutPkts  InBytes OutBytes\n"
     "  -> RemoteAddress:Port\nTCP  10.0.0.1:80   1 2 3 4 5\n  -> 10.1.0.1:80 1 2 3 4 "
     "5\n",
     NULL, false, NULL},
    /* keepalived.conf */
    {"! comment\n$W=7\nglobal_defs { router_id x }\n"
     "vrrp_instance V { virtual_ipaddress { 10.0.0.1 } }\n"
     "virtual_server 10.0.0.1 80 {\n  delay_loop 6\n  lb_algo lblc\n  lb_kind DR\n"
     "  protocol TCP\n  sorry_server 10.9.9.9 80\n"
     "  real_server 10.1.0.1 80 {\n    weight 0\n    uthreshold 30\n    lthreshold 20\n"
     "    HTTP_GET { url { path / weight 99 } connect_timeout 3 }\n  }\n"
     "  real_server 10.1.0.2 8080 { weight ${W} }\n"
     "  real_server 10.1.0.3 { # the service's port\n    inhibit_on_failure\n  }\n}\n",
     NULL, false, "10.1.0.1:80*0<30,20> 10.1.0.2:8080*7 10.1.0.3:80*1"},
    /* Variables: blanks around '=', inside of words, several words, the last definition, and
     * one that nobody defined. */
    {"$NET = 10.1.0\n$W=3\n$REAL=real_server ${NET}.1 80 # a comment\n$W= 9\n"
     "virtual_server fwmark 1 {\n  $REAL { weight $W }\n"
     "  real_server $NET.2 80 { weight 1${W} }\n}\n",
     NULL, false, "10.1.0.1:80*9 10.1.0.2:80*19"},
    {"virtual_server fwmark 1 { real_server 10.1.0.1 80 { weight ${W} } }\n", NULL,
     false, NULL},
    {"virtual_server fwmark 1 {\n ~SEQ(N, 1, 3) real_server 10.1.0.$N 80 { weight 2 "
     "}\n}\n",
     NULL, false, NULL},
    {"virtual_server_group web {\n  10.0.0.1 80\n  fwmark 3\n}\n"
     "virtual_server group web { real_server 10.1.0.1 80 { weight 5 } }\n"
     "virtual_server fwmark 8 { real_server 10.1.0.2 80 { weight 6 } }\n",
     "8", false, "10.1.0.2:80*6"},
    {"virtual_server 10.0.0.1 80 {\n real_server 10.1.0.1 80 { weight x }\n}\n", NULL,
     false, NULL},
    {"virtual_server 10.0.0.1 80 {\n real_server 10.1.0.1 80 { weight 1 }\n", NULL,
     false, NULL},
    {"virtual_server 10.0.0.1 80 { } }\n", NULL, false, NULL},
    /* Lists. */
    {"# caches\n10.1.0.1:3128 40\n10.1.0.2:3128*20\n10.1.0.3:3128,5\n", NULL, false,
     "10.1.0.1:3128*40 10.1.0.2:3128*20 10.1.0.3:3128*5"},
    {"cache-a\ncache-b\n", NULL, false, "cache-a*? cache-b*?"},
    {"10.1.0.1:3128 40\n10.1.0.2:3128 20\n", NULL, true,
     "10.1.0.2:3128*20 10.1.0.1:3128*40"},
    {"10.1.0.1:3128 many\n", NULL, false, NULL},
    {"10.1.0.1:99999\n", NULL, false, NULL},
};

static const char *const kinds[] = {
    [EVENT_WEIGHT] = "weight",
    [EVENT_THRESHOLDS] = "thresholds",
    [EVENT_ADD] = "add",
    [EVENT_REMOVE] = "remove",
    [EVENT_FAIL] = "fail",
    [EVENT_RESTORE] = "restore",
    [EVENT_SCHEDULER] = "scheduler",
};

static void describe(const struct server_list *list, FILE *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct server_spec *s = &list->items[i];
        fprintf(out, i > 0 ? " %s*" : "%s*", s->name);
        if (s->weighted) {
            fprintf(out, "%" PRIu32, s->weight);
        } else {
            fputc('?', out);
        }
        if (s->upper != 0) {
            fprintf(out, "<%" PRIu32 ",%" PRIu32 ">", s->upper, s->lower);
        }
        if (s->active != 0 || s->inactive != 0) {
            fprintf(out, "(%" PRIu32 ",%" PRIu32 ")", s->active, s->inactive);
        }
        fputs(s->later ? "later" : "", out);
    }
    for (size_t i = 0; i < list->event_count; i++) {
        fprintf(out, " @%" PRIu64 " %s %" PRIu32, list->events[i].at_ns / 1000000000,
                kinds[list->events[i].kind], list->events[i].server);
    }
}

static void write_bytes(const char *bytes, size_t size, char path[64])
{
    strcpy(path, "/tmp/locus-pool-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static void write_file(const char *text, char path[64])
{
    write_bytes(text, strlen(text), path);
}

START_TEST(pool_files_give_the_servers_they_name)
{
    const struct pool_case *c = &cases[_i];
    struct server_list list = {0};
    char path[64], found[1024] = "";

    write_file(c->text, path);
    int status = pool_file_read("test", path, c->service, c->reverse, &list);
    unlink(path);
    if (c->expected == NULL) {
        ck_assert_int_eq(status, EXIT_USAGE);
    } else {
        FILE *out = fmemopen(found, sizeof(found), "w");
        describe(&list, out);
        fclose(out);
        ck_assert_int_eq(status, EXIT_OK);
        ck_assert_str_eq(found, c->expected);
    }
    servers_free(&list);
}
END_TEST

/* Each letter of "-nnn..." is an option. */
START_TEST(a_word_of_a_million_options_is_read)
{
    enum { LETTERS = 1 << 20 };
    static char text[LETTERS + 64];
    struct server_list list = {0};
    char path[64];

    strcpy(text, "-a -t 10.0.0.1:80 -r 10.1.0.1:80 -");
    size_t length = strlen(text);
    memset(text + length, 'n', LETTERS);
    strcpy(text + length + LETTERS, "w7\n");
    write_file(text, path);
    ck_assert_int_eq(pool_file_read("test", path, NULL, false, &list), EXIT_OK);
    unlink(path);
    ck_assert_uint_eq(list.items[0].weight, 7);
    servers_free(&list);
}
END_TEST

START_TEST(a_line_of_keepalived_may_be_long)
{
    static char text[1 << 14];
    struct server_list list = {0};
    char path[64];

    strcpy(text, "virtual_server 10.0.0.1 80 {\n real_server 10.1.0.1 80 {\n");
    size_t length = strlen(text);
    memset(text + length, ' ', 5000);
    strcpy(text + length + 5000, "weight 7\n}\n}\n");
    write_file(text, path);
    ck_assert_int_eq(pool_file_read("test", path, NULL, false, &list), EXIT_OK);
    unlink(path);
    ck_assert_uint_eq(list.items[0].weight, 7);
    servers_free(&list);
}
END_TEST

START_TEST(a_pool_file_that_is_not_there_is_a_runtime_error)
{
    struct server_list list = {0};

    ck_assert_int_eq(pool_file_read("test", "/nonexistent/pool", NULL, false, &list),
                     EXIT_RUNTIME);
}
END_TEST

/* What stands behind it would be lost. */
START_TEST(a_file_with_a_zero_byte_is_refused)
{
    static const char pool[] = "10.1.0.1:80 4\n\00010.1.0.2:80 4\n";
    static const char scenario[] = "1 weight 10.0.0.1:80 7\n2 fail \00010.0.0.1:80\n";
    struct server_list list = {0};
    char path[64];

    write_bytes(pool, sizeof(pool) - 1, path);
    ck_assert_int_eq(pool_file_read("test", path, NULL, false, &list), EXIT_USAGE);
    unlink(path);
    servers_free(&list);
    ck_assert_int_eq(servers_parse("test", "2", &list), EXIT_OK);
    write_bytes(scenario, sizeof(scenario) - 1, path);
    ck_assert_int_eq(scenario_read("test", path, &list), EXIT_USAGE);
    unlink(path);
    servers_free(&list);
}
END_TEST

/* ---- scenarios ------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *expected; /* over "10.1.0.1:80*4 10.1.0.2:80*4"; NULL: refused */
} scenarios[] = {
    {"# nothing\n\n", "10.1.0.1:80*4 10.1.0.2:80*4"},
    {"2m restore 10.1.0.1:80\n30 weight 10.1.0.2:80 9\n90s fail 10.1.0.1 # port not "
     "needed\n",
     "10.1.0.1:80*4 10.1.0.2:80*4 @30 weight 1 @90 fail 0 @120 restore 0"},
    {"1h add 10.1.0.7:80 3\n1h scheduler wlc\n2h remove 10.1.0.7:80\n"
     "3h thresholds 10.1.0.2:80 100 50\n",
     "10.1.0.1:80*4 10.1.0.2:80*4 10.1.0.7:80*3later @3600 add 2 @3600 scheduler 0 "
     "@7200 remove 2 @10800 thresholds 1"},
    {"30 weight 10.1.0.3:80 9\n", NULL},
    {"30 weight 10.1.0.1:80\n", NULL},
    {"30 weight 10.1.0.1:80 9 9\n", NULL},
    {"soon weight 10.1.0.1:80 9\n", NULL},
    {"30 explode 10.1.0.1:80\n", NULL},
    {"30 scheduler fastest\n", NULL},
    {"30 thresholds 10.1.0.1:80 5 6\n", NULL},
    {"30\n", NULL},
};

START_TEST(scenarios_give_events_in_order_of_time)
{
    struct server_list list = {0};
    char path[64], found[1024] = "";

    ck_assert_int_eq(servers_parse("test", "10.1.0.1:80*4,10.1.0.2:80*4", &list),
                     EXIT_OK);
    write_file(scenarios[_i].text, path);
    int status = scenario_read("test", path, &list);
    unlink(path);
    if (scenarios[_i].expected == NULL) {
        ck_assert_int_eq(status, EXIT_USAGE);
    } else {
        FILE *out = fmemopen(found, sizeof(found), "w");
        describe(&list, out);
        fclose(out);
        ck_assert_int_eq(status, EXIT_OK);
        ck_assert_str_eq(found, scenarios[_i].expected);
    }
    servers_free(&list);
}
END_TEST

START_TEST(an_address_without_its_port_names_one_server_or_none)
{
    static const struct {
        const char *text;
        int status;
    } lines[] = {{"1 fail 10.1.0.1\n", EXIT_USAGE},
                 {"1 fail 10.1.0.1:81\n", EXIT_OK},
                 {"1 fail 10.1.0.2\n", EXIT_OK}};

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct server_list list = {0};
        char path[64];
        ck_assert_int_eq(
            servers_parse("test", "10.1.0.1:80,10.1.0.1:81,10.1.0.2:80", &list),
            EXIT_OK);
        write_file(lines[i].text, path);
        ck_assert_int_eq(scenario_read("test", path, &list), lines[i].status);
        unlink(path);
        servers_free(&list);
    }
}
END_TEST

/* However many there are, and in whatever order they stand. */
START_TEST(many_events_backwards_are_sorted)
{
    enum { EVENTS = 200000 };
    struct server_list list = {0};
    bool sorted = true;

    for (uint32_t i = 0; i < EVENTS; i++) {
        struct server_event event = {
            .at_ns = (EVENTS - i) / 3, .kind = EVENT_WEIGHT, .weight = i};
        ck_assert_int_eq(servers_add_event(&list, &event), LOCUS_OK);
    }
    servers_sort_events(&list);
    for (size_t i = 1; i < EVENTS; i++) {
        const struct server_event *a = &list.events[i - 1], *b = &list.events[i];
        sorted = sorted && (a->at_ns < b->at_ns ||
                            (a->at_ns == b->at_ns && a->weight < b->weight));
    }
    ck_assert(sorted);
    servers_free(&list);
}
END_TEST

START_TEST(server_lists_on_the_command_line_are_strict)
{
    static const char *const bad[] = {"",
                                      "0",
                                      "65536",
                                      "4x",
                                      "10.0.0.1,",
                                      "10.0.0.1*",
                                      "10.0.0.1*x",
                                      "10.0.0.1*-1",
                                      "10.0.0.1*2147483648",
                                      "10.0.0.1*1@",
                                      "10.0.0.1*1@0",
                                      "10.0.0.1*@1",
                                      "10.0.0.1*1@2@3",
                                      "10.0.0.1*1/2@3",
                                      "10.0.0.1@3",
                                      "10.0.0.1*1@2147483648",
                                      "10.0.0.1,10.0.0.1",
                                      "-4",
                                      "10.0.0.300"};
    struct server_list list = {0};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_int_eq(servers_parse("test", bad[i], &list), EXIT_USAGE);
        servers_free(&list);
    }
    ck_assert_int_eq(servers_parse("test", "65535", &list), EXIT_OK);
    ck_assert_uint_eq(list.count, 65535);
    ck_assert_str_eq(list.items[299].name, "10.0.1.44:80");
    servers_free(&list);
    ck_assert_int_eq(
        servers_parse("test", "10.0.0.1*4/20/15,[2001:db8::1]:80*5/9,web*0", &list),
        EXIT_OK);
    char found[1024] = "";
    FILE *out = fmemopen(found, sizeof(found), "w");
    describe(&list, out);
    fclose(out);
    ck_assert_str_eq(found, "10.0.0.1*4<20,15> [2001:db8::1]:80*5<9,0> web*0");
    servers_free(&list);
    ck_assert_int_eq(servers_parse("test", "10.0.0.1*1@40,10.0.0.2*1@50/60/50", &list),
                     EXIT_OK);
    ck_assert_uint_eq(list.items[0].capacity, 40);
    ck_assert_uint_eq(list.items[1].capacity, 50);
    ck_assert_uint_eq(list.items[1].weight, 1);
    ck_assert_uint_eq(list.items[1].upper, 60);
    ck_assert_uint_eq(list.items[1].lower, 50);
    servers_free(&list);
}
END_TEST

/* Long lines are read whole, but variables do not make endless ones of them. */
static int read_variable_line(size_t uses, struct server_list *list)
{
    char path[64], *text = malloc(400 + 2 * uses);
    size_t length;

    strcpy(text,
           "$B=                                                                    "
           "                 x\nvirtual_server fwmark 1 { real_server 10.1.0.1 80 "
           "{ weight 7 } }\n#");
    length = strlen(text);
    for (size_t i = 0; i < uses; i++) {
        memcpy(text + length + 2 * i, "$B", 2);
    }
    strcpy(text + length + 2 * uses, "\n");
    write_file(text, path);
    free(text);
    int status = pool_file_read("test", path, NULL, false, list);
    unlink(path);
    return status;
}

START_TEST(a_line_may_be_long_but_not_endless)
{
    struct server_list list = {0};

    ck_assert_int_eq(read_variable_line(100000, &list), EXIT_OK);
    ck_assert_uint_eq(list.items[0].weight, 7);
    servers_free(&list);
    ck_assert_int_eq(read_variable_line(2000000, &list), EXIT_USAGE);
    servers_free(&list);
}
END_TEST

START_TEST(an_event_reads_as_its_line_was_written)
{
    static const char *const lines[] = {
        "weight 10.1.0.1:80 7",
        "thresholds 10.1.0.1:80 9 3",
        "add 10.1.0.9:80 5",
        "remove 10.1.0.1:80",
        "fail 10.1.0.2:80",
        "restore 10.1.0.2:80",
        "scheduler wlc",
        "guard 3",
        "guard 50%",
    };
    enum { LINES = sizeof(lines) / sizeof(*lines) };
    char scenario[1024] = "", text[EVENT_TEXT], path[64];
    struct server_list list = {0};
    size_t used = 0;

    for (size_t i = 0; i < LINES; i++) {
        used += (size_t)snprintf(scenario + used, sizeof(scenario) - used, "%zu %s\n",
                                 i + 1, lines[i]);
    }
    ck_assert_int_eq(servers_parse("test", "10.1.0.1:80*4,10.1.0.2:80*4", &list),
                     EXIT_OK);
    write_file(scenario, path);
    ck_assert_int_eq(scenario_read("test", path, &list), EXIT_OK);
    unlink(path);
    ck_assert_uint_eq(list.event_count, LINES);
    for (size_t i = 0; i < LINES; i++) {
        server_event_text(&list, &list.events[i], text);
        ck_assert_str_eq(text, lines[i]);
    }
    servers_free(&list);
}
END_TEST

/* How a file says which flags a scheduler has, and what --policy would be for it. */
static const struct {
    const char *text, *scheduler; /* NULL: refused */
} flagged[] = {
    {"-A -t 10.0.0.1:80 -s sh -b sh-fallback,sh-port\n-a -t 10.0.0.1:80 -r 10.1.0.1\n",
     "sh:fallback:port"},
    {"-A -t 10.0.0.1:80 -s mh -bmh-port\n-a -t 10.0.0.1:80 -r 10.1.0.1\n", "mh:port"},
    {"--add-service -t 10.0.0.1:80 -s mh --sched-flags=flag-1,flag-3\n"
     "-a -t 10.0.0.1:80 -r 10.1.0.1\n",
     "mh:fallback"},
    {"-A -t 10.0.0.1:80 -s sh -b sh-port\n-a -t 10.0.0.1:80 -r 10.1.0.1\n"
     "-E -t 10.0.0.1:80 -s sh\n",
     "sh"},
    {"-A -t 10.0.0.1:80 -s wlc -b flag-1\n-a -t 10.0.0.1:80 -r 10.1.0.1\n", "wlc"},
    {"-A -t 10.0.0.1:80 -s sh -b sh-fallbac\n-a -t 10.0.0.1:80 -r 10.1.0.1\n", NULL},
    {"-A -t 10.0.0.1:80 -s sh -b ,sh-port\n-a -t 10.0.0.1:80 -r 10.1.0.1\n", NULL},
    {"TCP  10.0.0.1:80 mh (mh-fallback,mh-port)\n  -> 10.1.0.1:80 Masq 1 0 0\n",
     "mh:fallback:port"},
    {"TCP  10.0.0.1:80 mh persistent 300\n  -> 10.1.0.1:80 Masq 1 0 0\n", "mh"},
    {"virtual_server 10.0.0.1 80 {\n sh-port\n lb_algo sh\n sh-fallback\n"
     " real_server 10.1.0.1 80 { weight 1 }\n}\n",
     "sh:fallback:port"},
    {"virtual_server 10.0.0.1 80 {\n flag-2\n lb_algo lblc\n"
     " real_server 10.1.0.1 80 { weight 1 }\n}\n",
     "lblc"},
};

START_TEST(flags_of_a_scheduler_are_read)
{
    struct server_list list = {0};
    char path[64];

    write_file(flagged[_i].text, path);
    int status = pool_file_read("test", path, NULL, false, &list);
    unlink(path);
    ck_assert_int_eq(status, flagged[_i].scheduler != NULL ? EXIT_OK : EXIT_USAGE);
    if (status == EXIT_OK) {
        ck_assert_str_eq(list.scheduler, flagged[_i].scheduler);
    }
    servers_free(&list);
}
END_TEST

START_TEST(a_scheduler_may_change_its_flags_meanwhile)
{
    struct server_list list = {0};
    char path[64], text[EVENT_TEXT];

    write_file("-A -f 1 -s sh\n-a -f 1 -r 10.1.0.1:0 -w 2\nsleep 60\n"
               "-E -f 1 -s sh -b sh-port\n",
               path);
    ck_assert_int_eq(pool_file_read("test", path, NULL, false, &list), EXIT_OK);
    unlink(path);
    ck_assert_uint_eq(list.event_count, 1);
    ck_assert_uint_eq(list.events[0].flags, LOCUS_FLAG_PORT);
    server_event_text(&list, &list.events[0], text);
    ck_assert_str_eq(text, "scheduler sh:port");
    servers_free(&list);
}
END_TEST

static void append_server(char **at, const char *command, unsigned i)
{
    *at += sprintf(*at, "%s -t 10.0.0.1:80 -r 10.%u.%u.%u:80 -w 3\n", command, i >> 16,
                   i >> 8 & 255, i & 255);
}

/* All that a pool may have, some taken out again, and the last one said twice. */
START_TEST(a_large_pool_file_has_each_server_once)
{
    enum { LINE = 64, DROPPED = 100 };
    char *text = malloc(LINE * (size_t)(SERVERS_MAX + DROPPED + 2));
    char *end = text;
    struct server_list list = {0};
    char path[64];

    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        append_server(&end, "-a", i);
    }
    for (unsigned i = 0; i < DROPPED; i++) {
        append_server(&end, "-d", 7 * i);
    }
    write_file(text, path);
    ck_assert_int_eq(pool_file_read("test", path, NULL, true, &list), EXIT_OK);
    unlink(path);
    ck_assert_uint_eq(list.count, SERVERS_MAX - DROPPED);
    ck_assert_str_eq(list.items[0].name, "10.0.255.254:80");
    for (size_t i = 0; i < list.count; i++) {
        MUST(servers_find(&list, &list.items[i].address) == (int64_t)i);
    }
    struct locus_address dropped = {LOCUS_IPV4, 80, {.ipv4 = 0x0a000007}};
    ck_assert_int_eq(servers_find(&list, &dropped), -1);
    servers_free(&list);

    append_server(&end, "-a", SERVERS_MAX - 1);
    write_file(text, path);
    ck_assert_int_eq(pool_file_read("test", path, NULL, false, &list), EXIT_USAGE);
    unlink(path);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool files");
    TCase *tcase = suite_case(suite, "pool files");

    tcase_add_loop_test(tcase, pool_files_give_the_servers_they_name, 0,
                        sizeof(cases) / sizeof(*cases));
    tcase_add_loop_test(tcase, flags_of_a_scheduler_are_read, 0,
                        sizeof(flagged) / sizeof(*flagged));
    tcase_add_test(tcase, a_scheduler_may_change_its_flags_meanwhile);
    tcase_add_test(tcase, a_large_pool_file_has_each_server_once);
    tcase_add_test(tcase, a_word_of_a_million_options_is_read);
    tcase_add_test(tcase, a_line_of_keepalived_may_be_long);
    tcase_add_test(tcase, a_pool_file_that_is_not_there_is_a_runtime_error);
    tcase_add_test(tcase, a_file_with_a_zero_byte_is_refused);
    tcase_add_loop_test(tcase, scenarios_give_events_in_order_of_time, 0,
                        sizeof(scenarios) / sizeof(*scenarios));
    tcase_add_test(tcase, a_line_may_be_long_but_not_endless);
    tcase_add_test(tcase, an_event_reads_as_its_line_was_written);
    tcase_add_test(tcase, an_address_without_its_port_names_one_server_or_none);
    tcase_add_test(tcase, many_events_backwards_are_sorted);
    tcase_add_test(tcase, server_lists_on_the_command_line_are_strict);
    return suite_run(suite);
}
