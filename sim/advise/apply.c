/* SPDX-License-Identifier: MIT */
#include "apply.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A word for the shell, quoted where it has to be. */
static void print_word(const char *word)
{
    if (word[0] != '\0' &&
        word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789._-/:,=+@%")] == '\0') {
        printf("%s", word);
        return;
    }
    putchar('\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            printf("'\\''");
        } else {
            putchar(*word);
        }
    }
    putchar('\'');
}

static void print_option(const char *name, const char *value)
{
    if (value != NULL) {
        printf(" --%s ", name);
        print_word(value);
    }
}

/* The options that were given, as far as they say something. */
static void print_setup(const struct setup_args *s)
{
    char time[DURATION_TEXT];

    print_option("rules", s->rules);
    print_option("cache", s->cache);
    if (s->cache != NULL) {
        print_option("evict", cache_policy_names[s->evict]);
    }
    print_option("duration", s->duration);
    print_option("speed", s->speed);
    print_option("proto", s->proto != 0 ? setup_proto_choices[s->proto] : NULL);
    if (s->seed != 1) {
        printf(" --seed %" PRIu64, s->seed);
    }
    if (s->tcpfin_ns != 120 * (uint64_t)1000000000) {
        printf(" --tcpfin %s", duration_text(s->tcpfin_ns, time));
    }
    if (s->udp_ns != 300 * (uint64_t)1000000000) {
        printf(" --udp-timeout %s", duration_text(s->udp_ns, time));
    }
}

static void print_reading(const struct read_args *r)
{
    char time[DURATION_TEXT];

    print_option("format", r->format);
    print_option("key", r->key != 0 ? read_key_choices[r->key] : NULL);
    print_option("columns", r->columns);
    print_option("sample", r->sample);
    print_option("time-unit",
                 r->time_unit != 0 ? read_unit_choices[r->time_unit] : NULL);
    if (r->from_ns != 0) {
        printf(" --from %s", duration_text(r->from_ns, time));
    }
    if (r->to_ns != 0) {
        printf(" --to %s", duration_text(r->to_ns, time));
    }
    if (r->arrival != 1000) {
        printf(" --arrival %" PRIu64, r->arrival);
    }
}

void advice_print_replay(const struct advice *advice)
{
    const struct candidate *c = advice_choice(advice);

    printf("\ncheck:  locus replay --policy %s --servers '", c->policy.text);
    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *server = &c->servers.items[i];
        printf("%s%s*%" PRIu32, i > 0 ? "," : "", server->name, server->weight);
        if (server->capacity != 0) {
            printf("@%" PRIu32, server->capacity);
        }
        if (server->upper != 0) {
            printf("/%" PRIu32 "/%" PRIu32, server->upper, server->lower);
        }
    }
    printf("'");
    if (c->expiration_ns != 0) {
        printf(" --expiration %" PRIu64 "s", c->expiration_ns / 1000000000u);
    }
    if (c->max_entries != 0) {
        printf(" --max-entries %" PRIu32, c->max_entries);
    }
    print_setup(advice->setup_args);
    print_reading(advice->read_args);
    for (size_t i = 0; i < advice->path_count; i++) {
        putchar(' ');
        print_word(advice->paths[i]);
    }
    printf("\n");
}

static void print_flags(const struct candidate *c)
{
    const char *separator = " -b ";

    if ((c->policy.flags & LOCUS_FLAG_FALLBACK) != 0) {
        printf("%s%s-fallback", separator, c->policy.scheduler);
        separator = ",";
    }
    if ((c->policy.flags & LOCUS_FLAG_PORT) != 0) {
        printf("%s%s-port", separator, c->policy.scheduler);
    }
}

static void print_sysctl(const struct candidate *c)
{
    if (c->expiration_ns != 0) {
        printf("  sysctl -w net.ipv4.vs.%s_expiration=%" PRIu64 "\n",
               c->policy.scheduler, c->expiration_ns / 1000000000u);
    }
}

/* "-t 10.0.0.1:80", "-f 1"; lists have no service, so a fwmark one is made up. */
static void print_service(const struct server_list *list)
{
    const char *behind = strchr(list->service, ' ');

    if (behind == NULL) {
        printf("-f 1");
    } else if (strncmp(list->service, "fwmark", 6) == 0) {
        printf("-f%s", behind);
    } else if (strncmp(list->service, "sctp", 4) == 0) {
        printf("--sctp-service%s", behind);
    } else {
        printf("-%c%s", list->service[0], behind);
    }
}

static void print_ipvsadm(const struct advice *advice)
{
    const struct server_list *list = &advice->setup->servers;
    const struct candidate *c = advice_choice(advice);
    bool edit = list->service[0] != '\0';

    printf("  ipvsadm -%c ", edit ? 'E' : 'A');
    print_service(list);
    printf(" -s %s", c->policy.scheduler);
    print_flags(c);
    printf("\n");
    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *s = &c->servers.items[i];
        printf("  ipvsadm -%c ", edit ? 'e' : 'a');
        print_service(list);
        printf(" -r %s -%c -w %" PRIu32, s->name, s->forward != 0 ? s->forward : 'g',
               s->weight);
        if (s->upper != 0) {
            printf(" -x %" PRIu32 " -y %" PRIu32, s->upper, s->lower);
        }
        printf("\n");
    }
    print_sysctl(c);
}

/* keepalived writes ADDRESS PORT, and IPv6 without brackets. */
static void print_endpoint(const char *text)
{
    const char *port = strrchr(text, ':');

    if (text[0] == '[') {
        size_t length = strcspn(text, "]");
        printf("%.*s%s%s", (int)(length - 1), text + 1,
               text[length + 1] == ':' ? " " : "",
               text[length + 1] == ':' ? text + length + 2 : "");
    } else if (port != NULL && strchr(text, ':') == port) {
        printf("%.*s %s", (int)(port - text), text, port + 1);
    } else {
        printf("%s", text);
    }
}

static void print_keepalived_flags(const struct candidate *c)
{
    if ((c->policy.flags & LOCUS_FLAG_FALLBACK) != 0) {
        printf("    %s-fallback\n", c->policy.scheduler);
    }
    if ((c->policy.flags & LOCUS_FLAG_PORT) != 0) {
        printf("    %s-port\n", c->policy.scheduler);
    }
}

static void print_keepalived(const struct advice *advice)
{
    const char *service = advice->setup->servers.service;
    const struct candidate *c = advice_choice(advice);

    printf("  virtual_server ");
    if (strncmp(service, "service ", 8) == 0) {
        print_endpoint(service + 8);
    } else {
        printf("%s", service);
    }
    printf(" {\n    lb_algo %s\n", c->policy.scheduler);
    print_keepalived_flags(c);
    for (size_t i = 0; i < c->servers.count; i++) {
        const struct server_spec *s = &c->servers.items[i];
        printf("    real_server ");
        print_endpoint(s->name);
        printf(" {\n      weight %" PRIu32 "\n", s->weight);
        if (s->upper != 0) {
            printf("      uthreshold %" PRIu32 "\n      lthreshold %" PRIu32 "\n",
                   s->upper, s->lower);
        }
        printf("    }\n");
    }
    printf("  }\n");
    print_sysctl(c);
}

void advice_print_apply(const struct advice *advice)
{
    if (!policy_is_of_ipvs(&advice_choice(advice)->policy)) {
        printf("\nIPVS has no such scheduler: it is %s own\n",
               advice_choice(advice)->policy.ops != NULL ? "one of the simulator's"
                                                         : "liblocus'");
        return;
    }
    printf("\napply:\n");
    if (advice->setup->servers.kind == POOL_KEEPALIVED) {
        print_keepalived(advice);
    } else {
        print_ipvsadm(advice);
    }
    if (strncmp(advice->setup->rules_name, "kernel", 6) != 0) {
        printf("  # measured under the rules '%s', which no kernel has\n",
               advice->setup->rules_name);
    }
    if (servers_have_one_destination(&advice->setup->servers) &&
        policy_goes_by_destination(advice_choice(advice)->policy.scheduler)) {
        printf(
            "  # %s goes by the packets' destination, which is one address here: it\n"
            "  # needs a fwmark service that many destinations reach\n",
            advice_choice(advice)->policy.scheduler);
    }
    if (advice_choice(advice)->max_entries != 0) {
        printf("  # max_entries %" PRIu32 " is liblocus' alone; IPVS' bound is fixed\n",
               advice_choice(advice)->max_entries);
    }
}
