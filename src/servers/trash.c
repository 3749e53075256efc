/* SPDX-License-Identifier: MIT */
#include "trash.h"

#include "../state/clock.h"
#include "identities.h"
#include "slots.h"

void locus_trash_enter(struct locus_service *svc, uint32_t slot)
{
    struct identity *identity = svc->identities[slot];

    if (svc->trash.count == 0) {
        locus_timer_arm(svc, &svc->trash_timer, svc->rules.trash_ns);
    }
    identity->idle = false;
    locus_list_push(svc, &svc->trash, slot);
    if (!locus_identity_named(svc, true)) {
        locus_identity_unname(svc, identity);
    }
}

void locus_trash_leave(struct locus_service *svc, uint32_t slot)
{
    if (svc->trash_cursor == slot) {
        svc->trash_cursor = svc->servers[slot].next;
    }
    locus_list_remove(svc, &svc->trash, slot);
}

void locus_trash_begin(struct locus_service *svc)
{
    svc->trash_running = true;
    svc->trash_now = svc->tick;
    svc->trash_cursor = svc->trash.head;
    locus_timer_arm(svc, &svc->trash_timer, svc->rules.trash_ns);
}

/* Frees a server that nothing has referred to for long enough. */
static void look_at_trash(struct locus_service *svc, uint32_t slot)
{
    struct identity *identity = svc->identities[slot];
    const struct server *s = &svc->servers[slot];
    uint64_t idle_ticks = svc->rules.trash_idle_ns / svc->tick_ns;

    if (server_total(s) > 0 || s->refs > 0) {
        return;
    }
    if (!identity->idle) {
        identity->idle = true;
        identity->idle_since = svc->trash_now;
    } else if (svc->trash_now - identity->idle_since >= idle_ticks) {
        locus_list_remove(svc, &svc->trash, slot);
        locus_identity_drop(svc, slot, true);
    }
}

size_t locus_trash_run(struct locus_service *svc, size_t budget)
{
    size_t looked = 0;

    while (svc->trash_cursor != LOCUS_NO_SERVER && looked < budget) {
        uint32_t slot = svc->trash_cursor;
        svc->trash_cursor = svc->servers[slot].next;
        look_at_trash(svc, slot);
        looked++;
    }
    if (svc->trash_cursor == LOCUS_NO_SERVER) {
        svc->trash_running = false;
        if (svc->trash.count == 0) {
            svc->trash_timer.due = LOCUS_NEVER;
        }
    }
    return looked;
}
