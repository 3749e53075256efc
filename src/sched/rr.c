/* SPDX-License-Identifier: MIT */
/*
 * rr: round robin. The next available server after the one picked last, in list order, and
 * round to it again. Without a last one (at the start, or when it was removed and stood
 * first), from the head. Removing the last one moves back to its predecessor.
 */
#include "../state/core.h"

struct state {
    uint32_t last; /* LOCUS_NO_SERVER: the head of the list, before the first server */
};

static void init(struct locus_service *svc)
{
    struct state *st = svc->state;

    st->last = LOCUS_NO_SERVER;
}

static void server_event(struct locus_service *svc, uint32_t server,
                         enum server_event event)
{
    struct state *st = svc->state;

    if (event == SERVER_REMOVED && st->last == server) {
        st->last = svc->identities[server]->prev;
    }
}

/* The first available server from one on, up to and with stop (LOCUS_NO_SERVER: the end). */
static uint32_t first_usable(const struct locus_service *svc, uint32_t from,
                             uint32_t stop)
{
    for (uint32_t i = from; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        if (svc->servers[i].load.divisor != 0) {
            return i;
        }
        if (i == stop) {
            break;
        }
    }
    return LOCUS_NO_SERVER;
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    struct state *st = svc->state;
    uint32_t found;

    (void)request;
    (void)pick;
    if (st->last == LOCUS_NO_SERVER) {
        found = first_usable(svc, svc->list.head, LOCUS_NO_SERVER);
    } else {
        found = first_usable(svc, svc->servers[st->last].next, LOCUS_NO_SERVER);
        if (found == LOCUS_NO_SERVER) {
            found = first_usable(svc, svc->list.head, st->last);
        }
    }
    if (found != LOCUS_NO_SERVER) {
        st->last = found;
    }
    return found;
}

static void describe(const struct locus_service *svc, locus_value_fn *visit, void *arg)
{
    const struct state *st = svc->state;

    visit(arg, "last", LOCUS_VALUE_SERVER, st->last);
}

static struct turn turn(const struct locus_service *svc)
{
    const struct state *st = svc->state;

    return (struct turn){st->last, 0};
}

static void set_turn(struct locus_service *svc, struct turn next)
{
    struct state *st = svc->state;

    st->last = next.server;
}

const struct sched_ops locus_sched_rr = {
    .name = "rr",
    .about = "round robin",
    .state_size = sizeof(struct state),
    .init = init,
    .server_event = server_event,
    .schedule = schedule,
    .describe = describe,
    .turn = turn,
    .set_turn = set_turn,
};
