/* SPDX-License-Identifier: MIT */
/*
 * wrr: weighted round robin, interleaved. A threshold (current weight, cw) goes down from the
 * highest weight in steps of the weights' greatest common divisor; in each round over the
 * list the servers with weight >= cw get one connection each.
 *
 *     from the server after the last one picked, to the end of the list, pick the first
 *     that is not overloaded and has weight >= cw; at the end cw -= di and start at
 *     the head; below 1 cw = mw again. Give up after a whole cycle.
 *
 * Giving up copies the kernel's bookkeeping (start, stop, last pass), since it decides where
 * the pointer is left. Rounds in which nobody can be found are jumped over in one step,
 * so that weights 1 and 2^31-1 side by side cost no more than 1 and 2.
 */
#include "../state/core.h"

struct state {
    uint32_t cl; /* the server picked last, or LOCUS_NO_SERVER: the head */
    int64_t cw;  /* current weight */
    int64_t mw;  /* highest weight - (di - 1) */
    int64_t di;  /* greatest common divisor of the weights above 0; 1 without any */
};

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void measure(const struct locus_service *svc, struct state *st)
{
    int64_t divisor = 0, highest = 0;

    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        int64_t weight = svc->servers[i].weight;
        if (weight > 0) {
            divisor = gcd(weight, divisor);
            highest = weight > highest ? weight : highest;
        }
    }
    st->di = divisor > 0 ? divisor : 1;
    st->mw = highest - (st->di - 1);
    st->cl = LOCUS_NO_SERVER;
}

static void init(struct locus_service *svc)
{
    struct state *st = svc->state;

    measure(svc, st);
    st->cw = st->mw;
}

static void server_event(struct locus_service *svc, uint32_t server,
                         enum server_event event)
{
    struct state *st = svc->state;

    (void)server;
    (void)event;
    measure(svc, st);
    if (st->cw > st->mw || st->cw == 0) {
        st->cw = st->mw;
    } else if (st->di > 1) {
        st->cw = st->cw / st->di * st->di + 1;
    }
}

static int64_t highest_available(const struct locus_service *svc)
{
    int64_t highest = 0;

    for (uint32_t i = svc->list.head; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
        const struct server *s = &svc->servers[i];
        if (!s->overloaded && s->weight > highest) {
            highest = s->weight;
        }
    }
    return highest;
}

/*
 * The rounds between cw and the next one that matters find nobody and change nothing else:
 * the next one with somebody in reach, or the last before cw starts again.
 */
static void jump(const struct locus_service *svc, struct state *st)
{
    int64_t target = highest_available(svc);

    if (target < st->di) {
        target = st->di;
    }
    if (st->cw - st->di > target) {
        st->cw -= (st->cw - target - 1) / st->di * st->di;
    }
}

static uint32_t schedule(struct locus_service *svc, const struct locus_request *request,
                         struct locus_pick *pick)
{
    struct state *st = svc->state;
    const uint32_t start = st->cl;
    uint32_t stop = LOCUS_NO_SERVER;
    bool last_pass = false, restarted = false;

    (void)request;
    (void)pick;
    if (st->mw == 0) {
        return LOCUS_NO_SERVER;
    }
    uint32_t i = start == LOCUS_NO_SERVER ? svc->list.head : svc->servers[start].next;
    for (;;) {
        for (; i != LOCUS_NO_SERVER; i = svc->servers[i].next) {
            const struct server *s = &svc->servers[i];
            if (!s->overloaded && s->weight >= st->cw) {
                st->cl = i;
                return i;
            }
            if (i == stop) {
                st->cl = i;
                return LOCUS_NO_SERVER;
            }
        }
        i = svc->list.head;
        jump(svc, st);
        st->cw -= st->di;
        if (st->cw <= 0) {
            st->cw = st->mw;
            if (last_pass || start == LOCUS_NO_SERVER) {
                st->cl = LOCUS_NO_SERVER;
                return LOCUS_NO_SERVER;
            }
            restarted = true;
        }
        last_pass = st->cw <= st->di;
        if (last_pass && restarted && start != LOCUS_NO_SERVER) {
            stop = start;
        }
    }
}

static void describe(const struct locus_service *svc, locus_value_fn *visit, void *arg)
{
    const struct state *st = svc->state;

    visit(arg, "cl", LOCUS_VALUE_SERVER, st->cl);
    visit(arg, "cw", LOCUS_VALUE_NUMBER, (uint64_t)st->cw);
    visit(arg, "mw", LOCUS_VALUE_NUMBER, (uint64_t)st->mw);
    visit(arg, "di", LOCUS_VALUE_NUMBER, (uint64_t)st->di);
}

static struct turn turn(const struct locus_service *svc)
{
    const struct state *st = svc->state;

    return (struct turn){st->cl, st->cw};
}

static void set_turn(struct locus_service *svc, struct turn next)
{
    struct state *st = svc->state;

    st->cl = next.server;
    st->cw = next.number < 0 || next.number > st->mw ? st->mw : next.number;
}

const struct sched_ops locus_sched_wrr = {
    .name = "wrr",
    .about = "weighted round robin, interleaved",
    .state_size = sizeof(struct state),
    .init = init,
    .server_event = server_event,
    .schedule = schedule,
    .describe = describe,
    .turn = turn,
    .set_turn = set_turn,
};
