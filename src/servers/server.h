/* SPDX-License-Identifier: MIT */
/* Servers as a snapshot brings them back, besides the functions that locus.h has. */
#ifndef LOCUS_SERVER_H
#define LOCUS_SERVER_H

#include "../state/core.h"

/* What a server has besides its configuration. */
struct server_past {
    bool in_trash;
    uint32_t last_weight;
    bool idle; /* see struct identity */
    uint64_t idle_since;
};
/* A slot for a server that the service does not have. Nobody sees it until it is entered.
 * ERANGE: its numbers; EEXIST: its address is taken; ENOMEM. */
int locus_server_prepare(struct locus_service *svc,
                         const struct locus_server_config *config, bool in_trash,
                         uint32_t *out);
/* Puts a prepared server at the head of the list or of the trash. Arms no timer. */
void locus_server_enter(struct locus_service *svc, uint32_t slot,
                        const struct locus_server_config *config,
                        const struct server_past *past);
/* Tells a quiesced server that was added as one which weight it had before. */
void locus_server_recall_weight(struct locus_service *svc, uint32_t slot,
                                uint32_t last_weight);
/* Sets its connection counts; the flag only matters to rules that keep one. */
void locus_server_set_counts(struct locus_service *svc, uint32_t slot, uint32_t active,
                             uint32_t inactive, bool overloaded);

#endif
