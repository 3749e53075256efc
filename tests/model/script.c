/* SPDX-License-Identifier: MIT */
/* See script.h. TCP states are those of the kernel's table, given as data below. */
#include "script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "model_parts.h"

enum { WORDS_MAX = 64, NAMED_MAX = 4096 };

enum proto { PROTO_TCP, PROTO_UDP, PROTO_MANUAL };

enum tcp_state { NO, ES, SS, SR, FW, TW, CL, CW, LA, LI, SA };
enum direction { IN, OUT, IN_ONLY };
enum packet { SYN, FIN, ACK, RST };

/* Rows: the state before. Columns: in, out, in-only, each with syn fin ack rst. */
static const uint8_t tcp_next[11][3][4] = {
    [NO] = {{SR, CL, ES, CL}, {SS, TW, ES, CL}, {SR, CL, ES, CL}},
    [ES] = {{ES, CW, ES, CL}, {ES, FW, ES, CL}, {ES, FW, ES, CL}},
    [SS] = {{ES, SS, SS, CL}, {SS, SS, SS, SS}, {ES, SS, SS, CL}},
    [SR] = {{SR, TW, ES, SR}, {SR, TW, ES, CL}, {SR, TW, ES, SR}},
    [FW] = {{SR, TW, FW, CL}, {SS, FW, FW, CL}, {SR, FW, FW, CL}},
    [TW] = {{SR, TW, TW, CL}, {SS, TW, TW, TW}, {SR, TW, TW, CL}},
    [CL] = {{SR, CL, CL, CL}, {SS, CL, CL, CL}, {SR, CL, CL, CL}},
    [CW] = {{SR, CW, CW, CL}, {SS, TW, CW, CL}, {SR, CW, CW, CL}},
    [LA] = {{SR, LA, CL, LA}, {SS, LA, LA, CL}, {SR, LA, CL, LA}},
    [LI] = {{SR, LI, LI, LI}, {LI, LI, ES, CL}, {SR, LI, LI, LI}},
    [SA] = {{SR, TW, ES, SR}, {SR, TW, ES, CL}, {SR, TW, ES, CL}},
};

struct conn {
    bool open;
    bool active;
    bool input_only;
    uint8_t state;
    uint32_t server;
};

/* An ID of the script, the address it stands for, how its connections are forwarded. */
struct named {
    uint32_t id;
    uint32_t address;
    int64_t port;
    bool input_only;
};

struct script {
    struct model *m;
    struct model_rules rules;
    FILE *out;
    int64_t hz;
    int64_t jiffies;
    int64_t rest; /* of a jiffy, in 1e-9 of it */
    enum proto proto;
    bool direct; /* dr or tun */
    bool echo;
    bool clock_set;
    uint64_t seed;
    int64_t lblc_expiration, lblcr_expiration;
    const char *rules_name;
    struct named named[NAMED_MAX];
    size_t names;
    struct conn *conns;
    size_t conns_room;
};

struct words {
    size_t count;
    char *word[WORDS_MAX];
};

/* ---- reading --------------------------------------------------------------------- */

static bool number(const char *word, int64_t *out)
{
    char *end = NULL;
    *out = strtoll(word, &end, 10);
    return end != word && *end == '\0';
}

static bool address(const char *word, uint32_t *out)
{
    unsigned part[4];
    char rest;
    if (sscanf(word, "%u.%u.%u.%u%c", &part[0], &part[1], &part[2], &part[3], &rest) ==
        4) {
        *out = part[0] << 24 | part[1] << 16 | part[2] << 8 | part[3];
        return true;
    }
    int64_t value = 0;
    if (!number(word, &value) || value < 0 || value > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

static bool endpoint(char *word, uint32_t *ip, int64_t *port)
{
    char *colon = strchr(word, ':');
    if (!colon) {
        return false;
    }
    *colon = '\0';
    return address(word, ip) && number(colon + 1, port);
}

/* "S[.frac]" as whole seconds and 1e-9 of one. */
static bool seconds(const char *word, int64_t *whole, int64_t *billionths)
{
    char *end = NULL;
    *whole = strtoll(word, &end, 10);
    *billionths = 0;
    if (end == word || *whole < 0) {
        return false;
    }
    if (*end == '.') {
        int64_t unit = 100000000;
        for (end++; *end >= '0' && *end <= '9'; end++) {
            *billionths += (*end - '0') * unit;
            unit /= 10;
        }
    }
    return *end == '\0';
}

static struct model_key ipv4_key(uint32_t ip)
{
    return (struct model_key){0, ip};
}

static const char *ipv4_text(uint32_t ip, char text[16])
{
    snprintf(text, 16, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
             ip & 255);
    return text;
}

/* ---- clock ----------------------------------------------------------------------- */

static void pass_time(struct script *s, int64_t jiffies, int64_t rest)
{
    s->jiffies += jiffies;
    s->rest += rest;
    s->jiffies += s->rest / 1000000000;
    s->rest %= 1000000000;
    s->clock_set = true;
    if (s->m) {
        model_advance(s->m, s->jiffies);
    }
}

static bool event_time(struct script *s, const struct words *w)
{
    int64_t whole = 0;
    int64_t billionths = 0;
    if (w->count != 2 || !seconds(w->word[1], &whole, &billionths)) {
        return false;
    }
    pass_time(s, whole * s->hz, billionths * s->hz);
    return true;
}

static bool event_at(struct script *s, const struct words *w)
{
    int64_t whole = 0;
    int64_t billionths = 0;
    if (w->count != 2 || !seconds(w->word[1], &whole, &billionths)) {
        return false;
    }
    int64_t jiffies = whole * s->hz + billionths * s->hz / 1000000000;
    int64_t rest = billionths * s->hz % 1000000000;
    if (jiffies < s->jiffies || (jiffies == s->jiffies && rest < s->rest)) {
        return false;
    }
    s->rest = 0;
    pass_time(s, jiffies - s->jiffies, rest);
    return true;
}

static bool event_jiffies(struct script *s, const struct words *w)
{
    int64_t count = 0;
    if (w->count != 2 || !number(w->word[1], &count) || count < 0) {
        return false;
    }
    s->rest = 0;
    pass_time(s, count, 0);
    return true;
}

/* ---- configuration --------------------------------------------------------------- */

static void apply_expiration(struct script *s)
{
    if (s->m) {
        s->m->expiration =
            s->m->scheduler == MODEL_LBLCR ? s->lblcr_expiration : s->lblc_expiration;
    }
}

static bool set_expiration(struct script *s, const char *key, int64_t value)
{
    int64_t *variable =
        strncmp(key, "lblcr", 5) == 0 ? &s->lblcr_expiration : &s->lblc_expiration;
    int64_t scale = strstr(key, "_jiffies") ? 1 : s->hz;
    if (value > INT32_MAX / scale || value < -(INT32_MAX / scale)) {
        fprintf(s->out, "err set %s EINVAL\n", key);
        return true;
    }
    *variable = value * scale;
    apply_expiration(s);
    return true;
}

static bool set_proto(struct script *s, const char *value)
{
    static const char *const names[] = {"tcp", "udp", "manual"};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            s->proto = (enum proto)i;
            return true;
        }
    }
    return false;
}

static bool event_set(struct script *s, const struct words *w)
{
    if (w->count != 3) {
        return false;
    }
    const char *key = w->word[1];
    const char *text = w->word[2];
    if (strcmp(key, "proto") == 0) {
        return set_proto(s, text);
    }
    if (strcmp(key, "fwd") == 0) {
        s->direct = strcmp(text, "masq") != 0;
        return true;
    }
    int64_t value = 0;
    if (!number(text, &value)) {
        return false;
    }
    if (strncmp(key, "lblc", 4) == 0) {
        return set_expiration(s, key, value);
    }
    if (strcmp(key, "hz") == 0) {
        s->hz = value;
        s->lblc_expiration = s->lblcr_expiration = 24 * 60 * 60 * value;
    } else if (strcmp(key, "jiffies0") == 0) {
        s->jiffies = value;
    } else if (strcmp(key, "seed") == 0) {
        s->seed = (uint64_t)value;
        if (s->m) {
            s->m->dice = s->seed;
        }
    } else if (strcmp(key, "wheel") == 0) {
        s->rules.timer_wheel = value != 0;
        if (s->m) {
            s->m->rules.timer_wheel = value != 0;
        }
    } else if (strcmp(key, "echo") == 0) {
        s->echo = value != 0;
    } else {
        return false;
    }
    return true;
}

static void begin_service(struct script *s)
{
    bool wheel = s->rules.timer_wheel;
    model_rules_find(&s->rules, s->rules_name, s->hz);
    s->rules.timer_wheel = wheel;
    s->m = model_create(&s->rules, s->jiffies, s->seed);
}

static bool event_sched(struct script *s, const struct words *w)
{
    if (w->count < 2) {
        return false;
    }
    enum model_scheduler scheduler = model_scheduler_find(w->word[1]);
    if (scheduler == MODEL_SCHEDULERS) {
        fprintf(s->out, "err sched %s ENOENT\n", w->word[1]);
        return true;
    }
    bool fallback = false;
    bool port = false;
    for (size_t i = 2; i < w->count; i++) {
        fallback |= strcmp(w->word[i], "fallback") == 0;
        port |= strcmp(w->word[i], "port") == 0;
    }
    if (!s->m) {
        begin_service(s);
    }
    model_set_scheduler(s->m, scheduler, fallback, port);
    apply_expiration(s);
    return true;
}

/* ---- servers --------------------------------------------------------------------- */

static struct named *name_of(struct script *s, uint32_t id)
{
    for (size_t i = 0; i < s->names; i++) {
        if (s->named[i].id == id) {
            return &s->named[i];
        }
    }
    struct named *named = &s->named[s->names < NAMED_MAX ? s->names++ : NAMED_MAX - 1];
    *named = (struct named){.id = id, .address = 0x0a000000 + id, .port = 80};
    return named;
}

static void config_error(struct script *s, const struct words *w,
                         enum model_status status)
{
    static const char *const text[] = {
        [MODEL_EINVAL] = "EINVAL",
        [MODEL_ERANGE] = "ERANGE",
        [MODEL_EEXIST] = "EEXIST",
        [MODEL_ENOENT] = "ENOENT",
    };
    if (status != MODEL_OK) {
        fprintf(s->out, "err %s %s %s\n", w->word[0], w->word[1], text[status]);
    }
}

static bool event_server(struct script *s, const struct words *w)
{
    int64_t id = 0;
    struct model_server wanted = {0};
    size_t numbers = w->count;
    if (numbers < 3 || !number(w->word[1], &id)) {
        return false;
    }
    struct named *named = name_of(s, (uint32_t)id);
    if (strchr(w->word[numbers - 1], ':')) {
        numbers--;
        if (!endpoint(w->word[numbers], &named->address, &named->port)) {
            return false;
        }
    }
    if (!number(w->word[2], &wanted.weight) ||
        (numbers == 5 &&
         (!number(w->word[3], &wanted.upper) || !number(w->word[4], &wanted.lower)))) {
        return false;
    }
    wanted.tag = (uint32_t)id;
    wanted.address = ipv4_key(named->address);
    wanted.port = named->port;
    uint32_t handle = MODEL_NONE;
    enum model_status status = model_add(s->m, &wanted, &handle);
    config_error(s, w, status);
    if (status == MODEL_OK) {
        named->input_only = s->direct;
    }
    return true;
}

static uint32_t handle_of(const struct script *s, int64_t id)
{
    for (size_t i = 0; i < s->m->listed; i++) {
        if (s->m->servers[s->m->list[i]].tag == id) {
            return s->m->list[i];
        }
    }
    return MODEL_NONE;
}

static bool event_edit(struct script *s, const struct words *w)
{
    int64_t id = 0;
    int64_t weight = 0;
    int64_t upper = 0;
    int64_t lower = 0;
    bool whole = strcmp(w->word[0], "edit") == 0;
    if (w->count != (whole ? 5 : 3) || !number(w->word[1], &id) ||
        !number(w->word[2], &weight)) {
        return false;
    }
    uint32_t handle = handle_of(s, id);
    if (whole) {
        if (!number(w->word[3], &upper) || !number(w->word[4], &lower)) {
            return false;
        }
    } else if (handle != MODEL_NONE) {
        upper = s->m->servers[handle].upper;
        lower = s->m->servers[handle].lower;
    }
    enum model_status status = model_edit(s->m, handle, weight, upper, lower);
    config_error(s, w, status);
    if (status == MODEL_OK) {
        name_of(s, (uint32_t)id)->input_only = s->direct;
    }
    return true;
}

static bool event_del(struct script *s, const struct words *w)
{
    int64_t id = 0;
    if (w->count != 2 || !number(w->word[1], &id)) {
        return false;
    }
    config_error(s, w, model_remove(s->m, handle_of(s, id)));
    return true;
}

/* ---- connections ----------------------------------------------------------------- */

static bool is_active_state(uint8_t state)
{
    return state == ES || state == SS || state == SR || state == SA;
}

static void set_active(struct script *s, struct conn *conn, bool active)
{
    if (conn->active != active) {
        model_move(s->m, conn->server, conn->active, active);
        conn->active = active;
    }
}

static void tcp_packet(struct script *s, struct conn *conn, bool inwards,
                       enum packet what)
{
    enum direction direction = OUT;
    if (inwards) {
        direction = conn->input_only ? IN_ONLY : IN;
    } else {
        conn->input_only = false;
    }
    conn->state = tcp_next[conn->state][direction][what];
    set_active(s, conn, is_active_state(conn->state));
}

static struct conn *conn_slot(struct script *s, int64_t cid)
{
    if (cid < 0 || cid > 1 << 24) {
        return NULL;
    }
    size_t index = (size_t)cid;
    if (index >= s->conns_room) {
        size_t room = index * 2 + 64;
        s->conns = model_resize(s->conns, room, sizeof(*s->conns));
        memset(s->conns + s->conns_room, 0, (room - s->conns_room) * sizeof(*s->conns));
        s->conns_room = room;
    }
    return &s->conns[index];
}

static bool event_conn(struct script *s, const struct words *w)
{
    uint32_t dst = 0;
    uint32_t src = 0xac100001;
    int64_t port = 40000;
    int64_t cid = 0;
    if (w->count < 3 || !number(w->word[1], &cid) || !address(w->word[2], &dst) ||
        (w->count > 3 && !address(w->word[3], &src)) ||
        (w->count > 4 && !number(w->word[4], &port))) {
        return false;
    }
    struct conn *conn = conn_slot(s, cid);
    if (!conn || conn->open) {
        return false;
    }
    struct model_request request = {ipv4_key(dst), ipv4_key(src), port};
    struct model_pick pick = model_schedule(s->m, &request);
    if (pick.server == MODEL_NONE) {
        fprintf(s->out, "%" PRId64 " -\n", cid);
        return true;
    }
    uint32_t id = s->m->servers[pick.server].tag;
    fprintf(s->out, "%" PRId64 " %" PRIu32 "\n", cid, id);
    *conn = (struct conn){.open = true, .server = pick.server};
    conn->input_only = name_of(s, id)->input_only;
    model_bind(s->m, pick.server, false);
    if (s->proto == PROTO_TCP) {
        tcp_packet(s, conn, true, SYN);
    }
    return true;
}

/* The open connection of an event, or NULL when there is nothing to do. */
static struct conn *open_conn(struct script *s, const struct words *w)
{
    int64_t cid = 0;
    if (w->count < 2 || !number(w->word[1], &cid)) {
        return NULL;
    }
    struct conn *conn = conn_slot(s, cid);
    return conn && conn->open ? conn : NULL;
}

static bool event_state(struct script *s, const struct words *w)
{
    struct conn *conn = open_conn(s, w);
    bool established = strcmp(w->word[0], "est") == 0;
    if (!conn) {
        return true;
    }
    if (s->proto == PROTO_MANUAL) {
        set_active(s, conn, established);
    } else if (s->proto == PROTO_TCP) {
        tcp_packet(s, conn, true, established ? ACK : FIN);
    }
    return true;
}

static bool event_pkt(struct script *s, const struct words *w)
{
    static const char *const names[] = {"syn", "fin", "ack", "rst"};
    if (w->count != 4) {
        return false;
    }
    struct conn *conn = open_conn(s, w);
    for (int i = 0; conn && s->proto == PROTO_TCP && i < 4; i++) {
        if (strcmp(w->word[3], names[i]) == 0) {
            tcp_packet(s, conn, strcmp(w->word[2], "in") == 0, (enum packet)i);
            break;
        }
    }
    return true;
}

static bool event_close(struct script *s, const struct words *w)
{
    struct conn *conn = open_conn(s, w);
    if (conn) {
        model_unbind(s->m, conn->server, conn->active);
        conn->open = false;
    }
    return true;
}

/* ---- dumps ----------------------------------------------------------------------- */

static void print_stat_line(const struct script *s, uint32_t server, const char *prefix)
{
    const struct model_server *v = &s->m->servers[server];
    int64_t total = v->active + v->inactive;
    fprintf(s->out,
            " %s%" PRIu32 "%s weight=%" PRId64 " last_weight=%" PRId64
            " active=%" PRId64 " inact=%" PRId64 " total=%" PRId64
            " persist=0 overload=%d u=%" PRId64 " l=%" PRId64 " refcnt=%" PRId64 "\n",
            prefix, v->tag, v->listed ? "" : "!", v->weight, v->last_weight, v->active,
            v->inactive, total, v->overloaded, v->upper, v->lower,
            1 + total + (int64_t)model_references(s->m, server));
}

static bool event_stat(struct script *s, const struct words *w)
{
    const struct model *m = s->m;
    fprintf(s->out, "stat jiffies=%" PRId64 " dests=%zu\n", m->now, m->listed);
    for (size_t i = 0; i < m->listed; i++) {
        print_stat_line(s, m->list[i], "");
    }
    for (size_t i = 0; i < m->trashed; i++) {
        print_stat_line(s, m->trash[i], "trash ");
    }
    return w->count == 1;
}

static void print_server(const struct script *s, uint32_t server, const char *none)
{
    if (server == MODEL_NONE) {
        fputs(none, s->out);
    } else {
        fprintf(s->out, "%" PRIu32 "%s", s->m->servers[server].tag,
                s->m->servers[server].listed ? "" : "!");
    }
}

static void print_dest(const struct script *s, const struct model_dest *dest, bool raw)
{
    char text[16];
    bool many = s->m->scheduler == MODEL_LBLCR;
    fprintf(s->out, " %s lastuse=%" PRId64 " ", ipv4_text((uint32_t)dest->key.lo, text),
            dest->lastuse);
    if (many) {
        fprintf(s->out, "lastmod=%" PRId64 " size=%zu set=", dest->lastmod, dest->size);
    } else {
        fputs("server=", s->out);
    }
    for (size_t i = 0; i < dest->size; i++) {
        fputs(i > 0 ? "," : "", s->out);
        print_server(s, dest->members[i], "-");
    }
    if (raw) {
        fprintf(s->out, " bucket=%" PRIu32, model_hash32(model_fold(dest->key), 10));
    }
    fputc('\n', s->out);
}

struct sortable {
    uint64_t major, minor;
    const struct model_dest *dest;
};

static int by_place(const void *left, const void *right)
{
    const struct sortable *a = left;
    const struct sortable *b = right;
    if (a->major != b->major) {
        return a->major < b->major ? -1 : 1;
    }
    return a->minor < b->minor ? -1 : a->minor > b->minor;
}

static void print_map(const struct script *s, bool raw)
{
    const struct model *m = s->m;
    fprintf(s->out,
            "%s jiffies=%" PRId64 " entries=%" PRId64 " linked=%zu max_size=%" PRId64
            " rover=%" PRId64 " counter=%" PRId64 "\n",
            model_scheduler_name(m->scheduler), m->now, m->entries, m->linked,
            m->rules.soft_entries, m->rover, m->counter);
    struct sortable *order = model_resize(NULL, m->linked, sizeof(*order));
    for (size_t i = 0; i < m->linked; i++) {
        const struct model_dest *dest = &m->dests[i];
        order[i].dest = dest;
        order[i].major = raw ? model_hash32(model_fold(dest->key), 10) : dest->key.lo;
        order[i].minor = m->linked - i; /* chains begin with the newest */
    }
    qsort(order, m->linked, sizeof(*order), by_place);
    for (size_t i = 0; i < m->linked; i++) {
        print_dest(s, order[i].dest, raw);
    }
    free(order);
}

static void print_table(const struct script *s)
{
    const struct model *m = s->m;
    fprintf(s->out, "%s size=%zu", model_scheduler_name(m->scheduler), m->table_size);
    if (m->scheduler == MODEL_MH) {
        fprintf(s->out, " gcd=%" PRId64 " rshift=%" PRId64, m->mh_gcd, m->mh_shift);
    }
    for (size_t i = 0, run = 0; i < m->table_size; i++) {
        run++;
        if (i + 1 == m->table_size || m->table[i + 1] != m->table[i]) {
            fputc(' ', s->out);
            print_server(s, m->table[i], "-");
            fprintf(s->out, "*%zu", run);
            run = 0;
        }
    }
    fputc('\n', s->out);
}

static bool event_dump(struct script *s, const struct words *w)
{
    const struct model *m = s->m;
    bool raw = w->count == 2 && strcmp(w->word[1], "raw") == 0;
    if (m->scheduler == MODEL_LBLC || m->scheduler == MODEL_LBLCR) {
        print_map(s, raw);
    } else if (m->scheduler == MODEL_RR) {
        fputs("rr last=", s->out);
        print_server(s, m->rr_last, "head");
        fputc('\n', s->out);
    } else if (m->scheduler == MODEL_WRR) {
        fputs("wrr cl=", s->out);
        print_server(s, m->wrr_current, "head");
        fprintf(s->out, " cw=%" PRId64 " mw=%" PRId64 " di=%" PRId64 "\n",
                m->wrr_weight, m->wrr_max, m->wrr_step);
    } else if (m->table_size > 0) {
        print_table(s);
    } else {
        fprintf(s->out, "%s stateless\n", model_scheduler_name(m->scheduler));
    }
    return w->count == 1 || raw;
}

static bool event_print(struct script *s, const struct words *w)
{
    fputc('#', s->out);
    for (size_t i = 1; i < w->count; i++) {
        fprintf(s->out, " %s", w->word[i]);
    }
    fputc('\n', s->out);
    return true;
}

/* ---- lines ----------------------------------------------------------------------- */

static const struct event {
    const char *name;
    bool (*run)(struct script *s, const struct words *w);
    bool early; /* allowed before there is a service */
} events[] = {
    {"conn", event_conn, false},  {"close", event_close, false},
    {"est", event_state, false},  {"fin", event_state, false},
    {"pkt", event_pkt, false},    {"weight", event_edit, false},
    {"edit", event_edit, false},  {"server", event_server, false},
    {"del", event_del, false},    {"time", event_time, true},
    {"at", event_at, true},       {"jiffies", event_jiffies, true},
    {"stat", event_stat, false},  {"dump", event_dump, false},
    {"set", event_set, true},     {"sched", event_sched, true},
    {"print", event_print, true},
};

static bool run_line(struct script *s, const struct words *w)
{
    if (w->count == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (strcmp(events[i].name, w->word[0]) == 0) {
            return (s->m || events[i].early) && events[i].run(s, w);
        }
    }
    return false;
}

static void split(char *line, struct words *w)
{
    line[strcspn(line, "#")] = '\0';
    char *rest = NULL;
    w->count = 0;
    for (char *word = strtok_r(line, " \t\r", &rest); word && w->count < WORDS_MAX;
         word = strtok_r(NULL, " \t\r", &rest)) {
        w->word[w->count++] = word;
    }
}

unsigned script_run(char *text, const char *rules, FILE *out)
{
    struct script *s = model_resize(NULL, 1, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->out = out;
    s->hz = 250;
    s->rules_name = rules;
    s->lblc_expiration = s->lblcr_expiration = INT64_C(24) * 60 * 60 * 250;
    unsigned line_number = 0;
    bool good = true;
    while (good && *text) {
        line_number++;
        char *line = text;
        text += strcspn(text, "\n");
        if (*text) {
            *text++ = '\0';
        }
        if (s->echo) {
            fprintf(out, "> %s\n", line);
        }
        struct words w;
        split(line, &w);
        good = run_line(s, &w);
    }
    model_destroy(s->m);
    free(s->conns);
    free(s);
    return good ? 0 : line_number;
}
