/* SPDX-License-Identifier: MIT */
/*
 * The pool's scripts. All but the pick begin with the same eight keys, of which each uses
 * what it needs:
 *
 *     KEYS[1] live       sorted set  member -> count; who may be picked
 *     KEYS[2] kept       hash        member -> "r:count" (removed) or "u:count" (unhealthy)
 *     KEYS[3] health     hash        member -> streak: failures if live, successes if not
 *     KEYS[4] limits     hash        member -> its own limit of leases
 *     KEYS[5] load       sorted set  live member -> leases * 2^32 + turn of the last one
 *     KEYS[6] held       hash        member -> leases, of live ones and others; "" -> turns
 *     KEYS[7] deadlines  sorted set  lease -> ms since 1970 by this server's clock
 *     KEYS[8] leases     hash        lease -> member
 *
 * 5 to 8 exist while there are leases: 7 and 8 go with the last of them, 5 and 6, for the
 * sake of the turns, ten seconds later. If 7 has expired while nobody called, all its leases
 * have ended, and what 6 still counts is void. load is an index of what held says, made
 * on the first lease. A member is in live or in kept, never in both. The turn breaks ties
 * among members of equally many leases: longest ago first.
 *
 * Counts and scores are whole numbers below 2^53, exact as doubles: leases * 2^32 since a
 * member has at most 2^20 of them.
 */
#ifndef LOCUS_SHARED_POOL_SCRIPTS_H
#define LOCUS_SHARED_POOL_SCRIPTS_H

/* One key: the sorted set. ARGV: how many. Returns the last count, then the members. */
#define SCRIPT_PICK                                        \
    "local out = {'0'}\n"                                  \
    "for i = 1, tonumber(ARGV[1]) do\n"                    \
    "  local m = redis.call('ZRANGE', KEYS[1], 0, 0)[1]\n" \
    "  if not m then return {} end\n"                      \
    "  out[1] = redis.call('ZINCRBY', KEYS[1], 1, m)\n"    \
    "  out[i + 1] = m\n"                                   \
    "end\n"                                                \
    "return out\n"

#define LUA_LOWEST                                                    \
    "local function lowest()\n"                                       \
    "  local f = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')\n" \
    "  return tonumber(f[2]) or 0\n"                                  \
    "end\n"

/* Makes a member live that is nowhere, or revives a kept one. */
#define LUA_ENTER                                                      \
    LUA_LOWEST                                                         \
    "local function enter(m, n)\n"                                     \
    "  redis.call('ZADD', KEYS[1], n, m)\n"                            \
    "  if redis.call('EXISTS', KEYS[5]) == 1 then\n"                   \
    "    local held = tonumber(redis.call('HGET', KEYS[6], m)) or 0\n" \
    "    redis.call('ZADD', KEYS[5], held * 4294967296, m)\n"          \
    "  end\n"                                                          \
    "end\n"                                                            \
    "local function revive(m, kept, exact)\n"                          \
    "  local n = tonumber(string.sub(kept, 3)) or 0\n"                 \
    "  if not exact then n = math.max(n, lowest()) end\n"              \
    "  enter(m, n)\n"                                                  \
    "  redis.call('HDEL', KEYS[2], m)\n"                               \
    "  redis.call('HDEL', KEYS[3], m)\n"                               \
    "end\n"                                                            \
    "local function leave(m, state, n)\n"                              \
    "  redis.call('ZREM', KEYS[1], m)\n"                               \
    "  redis.call('ZREM', KEYS[5], m)\n"                               \
    "  redis.call('HDEL', KEYS[3], m)\n"                               \
    "  redis.call('HSET', KEYS[2], m, state .. n)\n"                   \
    "end\n"

/* ARGV: min|mean|at, value, cap, members... Returns how many became live, and whether the
 * pool was full. */
#define SCRIPT_ADD                                                        \
    LUA_ENTER                                                             \
    "local start = tonumber(ARGV[2])\n"                                   \
    "if ARGV[1] == 'min' then\n"                                          \
    "  start = lowest()\n"                                                \
    "elseif ARGV[1] == 'mean' then\n"                                     \
    "  local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')\n"  \
    "  local base, sum = lowest(), 0\n"                                   \
    "  for i = 2, #all, 2 do sum = sum + (tonumber(all[i]) - base) end\n" \
    "  start = base + math.floor(sum / math.max(#all / 2, 1))\n"          \
    "end\n"                                                               \
    "local room = tonumber(ARGV[3]) - redis.call('ZCARD', KEYS[1])\n"     \
    "    - redis.call('HLEN', KEYS[2])\n"                                 \
    "local added = 0\n"                                                   \
    "for i = 4, #ARGV do\n"                                               \
    "  local m = ARGV[i]\n"                                               \
    "  if not redis.call('ZSCORE', KEYS[1], m) then\n"                    \
    "    local kept = redis.call('HGET', KEYS[2], m)\n"                   \
    "    if not kept then\n"                                              \
    "      if room <= 0 then return {added, 1} end\n"                     \
    "      room = room - 1\n"                                             \
    "      enter(m, start)\n"                                             \
    "      added = added + 1\n"                                           \
    "    elseif string.sub(kept, 1, 1) == 'r' then\n"                     \
    "      revive(m, kept, false)\n"                                      \
    "      added = added + 1\n"                                           \
    "    end\n"                                                           \
    "  end\n"                                                             \
    "end\n"                                                               \
    "return {added, 0}\n"

/* ARGV: member, drop 0|1. Returns 1, or 0 when there is none. */
#define SCRIPT_REMOVE                               \
    LUA_ENTER                                       \
    "local m = ARGV[1]\n"                           \
    "local n = redis.call('ZSCORE', KEYS[1], m)\n"  \
    "local kept = redis.call('HGET', KEYS[2], m)\n" \
    "if n then\n"                                   \
    "  leave(m, 'r:', n)\n"                         \
    "elseif kept then\n"                            \
    "  leave(m, 'r:', string.sub(kept, 3))\n"       \
    "else\n"                                        \
    "  return 0\n"                                  \
    "end\n"                                         \
    "if ARGV[2] == '1' then\n"                      \
    "  redis.call('HDEL', KEYS[2], m)\n"            \
    "  redis.call('HDEL', KEYS[4], m)\n"            \
    "end\n"                                         \
    "return 1\n"

/* ARGV: member, exact 0|1. Returns 1, or 0 when there is none. */
#define SCRIPT_RESTORE                                        \
    LUA_ENTER                                                 \
    "local m = ARGV[1]\n"                                     \
    "if redis.call('ZSCORE', KEYS[1], m) then return 1 end\n" \
    "local kept = redis.call('HGET', KEYS[2], m)\n"           \
    "if not kept then return 0 end\n"                         \
    "revive(m, kept, ARGV[2] == '1')\n"                       \
    "return 1\n"

/* ARGV: member, success 0|1, fail after, restore after, min live. Returns the state as enum
 * locus_pool_state, -1 when there is none. */
#define SCRIPT_REPORT                                                           \
    LUA_ENTER                                                                   \
    "local m, ok = ARGV[1], ARGV[2] == '1'\n"                                   \
    "local n = redis.call('ZSCORE', KEYS[1], m)\n"                              \
    "local kept = redis.call('HGET', KEYS[2], m)\n"                             \
    "if not n and not kept then return -1 end\n"                                \
    "if not n and string.sub(kept, 1, 1) == 'r' then return 1 end\n"            \
    "if (n ~= false) == ok then\n"                                              \
    "  redis.call('HDEL', KEYS[3], m)\n"                                        \
    "  return n and 0 or 2\n"                                                   \
    "end\n"                                                                     \
    "local streak = redis.call('HINCRBY', KEYS[3], m, 1)\n"                     \
    "if not n then\n"                                                           \
    "  if streak < tonumber(ARGV[4]) then return 2 end\n"                       \
    "  revive(m, kept, false)\n"                                                \
    "  return 0\n"                                                              \
    "end\n"                                                                     \
    "if streak < tonumber(ARGV[3]) or\n"                                        \
    "    redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[5]) then return 0 end\n" \
    "leave(m, 'u:', n)\n"                                                       \
    "return 2\n"

#define SCRIPT_LIST                                                       \
    "return {redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'),\n"       \
    "  redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]),\n" \
    "  redis.call('HGETALL', KEYS[6])}\n"

/* ARGV: member. As a list of one. */
#define SCRIPT_GET                                                                    \
    "return {redis.call('ZSCORE', KEYS[1], ARGV[1]),\n"                               \
    "  redis.call('HGET', KEYS[2], ARGV[1]), redis.call('HGET', KEYS[3], ARGV[1]),\n" \
    "  redis.call('HGET', KEYS[6], ARGV[1])}\n"

#define SCRIPT_REBASE                                                            \
    LUA_LOWEST                                                                   \
    "local by = lowest()\n"                                                      \
    "if by <= 0 then return 0 end\n"                                             \
    "local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')\n"           \
    "for i = 1, #all, 2 do\n"                                                    \
    "  redis.call('ZADD', KEYS[1], tonumber(all[i + 1]) - by, all[i])\n"         \
    "end\n"                                                                      \
    "all = redis.call('HGETALL', KEYS[2])\n"                                     \
    "for i = 1, #all, 2 do\n"                                                    \
    "  local n = math.max((tonumber(string.sub(all[i + 1], 3)) or 0) - by, 0)\n" \
    "  redis.call('HSET', KEYS[2], all[i],\n"                                    \
    "    string.sub(all[i + 1], 1, 2) .. string.format('%.0f', n))\n"            \
    "end\n"                                                                      \
    "return 1\n"

/* ARGV[1]: how many ended leases to take off at most. Counts never go below zero: a lease
 * is let go of once, with its entry in leases. keep() sees to it that no key expires
 * before a lease does. */
#define LUA_LEASES                                                                    \
    "local t = redis.call('TIME')\n"                                                  \
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"                             \
    "local function let_go(id)\n"                                                     \
    "  local m = redis.call('HGET', KEYS[8], id)\n"                                   \
    "  redis.call('ZREM', KEYS[7], id)\n"                                             \
    "  redis.call('HDEL', KEYS[8], id)\n"                                             \
    "  if not m then return end\n"                                                    \
    "  local n = tonumber(redis.call('HGET', KEYS[6], m)) or 0\n"                     \
    "  if n <= 0 then return end\n"                                                   \
    "  if n == 1 then\n"                                                              \
    "    redis.call('HDEL', KEYS[6], m)\n"                                            \
    "  else\n"                                                                        \
    "    redis.call('HSET', KEYS[6], m, n - 1)\n"                                     \
    "  end\n"                                                                         \
    "  if redis.call('ZSCORE', KEYS[5], m) then\n"                                    \
    "    redis.call('ZINCRBY', KEYS[5], -4294967296, m)\n"                            \
    "  end\n"                                                                         \
    "end\n"                                                                           \
    "local function reap()\n"                                                         \
    "  local ended = redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', now, 'LIMIT', 0,\n" \
    "    ARGV[1])\n"                                                                  \
    "  for i = 1, #ended do let_go(ended[i]) end\n"                                   \
    "  if redis.call('EXISTS', KEYS[7]) == 1 then return end\n"                       \
    "  if redis.call('HLEN', KEYS[6]) <= 1 then\n"                                    \
    "    redis.call('PEXPIRE', KEYS[5], 10000)\n"                                     \
    "    redis.call('PEXPIRE', KEYS[6], 10000)\n"                                     \
    "  else\n"                                                                        \
    "    redis.call('DEL', KEYS[5], KEYS[6], KEYS[8])\n"                              \
    "  end\n"                                                                         \
    "end\n"                                                                           \
    "local function keep(id, ttl)\n"                                                  \
    "  redis.call('ZADD', KEYS[7], now + ttl, id)\n"                                  \
    "  for i = 5, 8 do\n"                                                             \
    "    if redis.call('PTTL', KEYS[i]) < ttl + 1000 then\n"                          \
    "      redis.call('PEXPIRE', KEYS[i], ttl + 1000)\n"                              \
    "    end\n"                                                                       \
    "  end\n"                                                                         \
    "end\n"                                                                           \
    "local function held(id)\n"                                                       \
    "  local ends = redis.call('ZSCORE', KEYS[7], id)\n"                              \
    "  return ends and tonumber(ends) > now\n"                                        \
    "end\n"

/* ARGV: reap, id, ttl in ms, limit. Returns {1, member, leases}, {0}: nobody is live, or
 * {2}: all are at their limits. An id that is held already gets the same answer again. */
#define SCRIPT_ACQUIRE                                                              \
    LUA_LEASES                                                                      \
    "reap()\n"                                                                      \
    "local id, ttl, usual = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])\n"        \
    "local m = redis.call('HGET', KEYS[8], id)\n"                                   \
    "if m then return {1, m, tonumber(redis.call('HGET', KEYS[6], m))} end\n"       \
    "local live = redis.call('ZCARD', KEYS[1])\n"                                   \
    "if live == 0 then return {0} end\n"                                            \
    "if redis.call('ZCARD', KEYS[5]) ~= live then\n"                                \
    "  redis.call('ZUNIONSTORE', KEYS[5], 1, KEYS[1], 'WEIGHTS', 0)\n"              \
    "  local all = redis.call('HGETALL', KEYS[6])\n"                                \
    "  for i = 1, #all, 2 do\n"                                                     \
    "    redis.call('ZADD', KEYS[5], 'XX', all[i + 1] * 4294967296, all[i])\n"      \
    "  end\n"                                                                       \
    "end\n"                                                                         \
    "local own = redis.call('EXISTS', KEYS[4]) == 1\n"                              \
    "local from = 0\n"                                                              \
    "repeat\n"                                                                      \
    "  local page = redis.call('ZRANGE', KEYS[5], from, from + 99, 'WITHSCORES')\n" \
    "  for i = 1, #page, 2 do\n"                                                    \
    "    m = page[i]\n"                                                             \
    "    local n = math.floor(page[i + 1] / 4294967296)\n"                          \
    "    local limit = own and tonumber(redis.call('HGET', KEYS[4], m)) or usual\n" \
    "    if n < limit then\n"                                                       \
    "      local turn = redis.call('HINCRBY', KEYS[6], '', 1) % 4294967296\n"       \
    "      n = redis.call('HINCRBY', KEYS[6], m, 1)\n"                              \
    "      redis.call('ZADD', KEYS[5], n * 4294967296 + turn, m)\n"                 \
    "      redis.call('HSET', KEYS[8], id, m)\n"                                    \
    "      keep(id, ttl)\n"                                                         \
    "      return {1, m, n}\n"                                                      \
    "    end\n"                                                                     \
    "    if not own then return {2} end\n"                                          \
    "  end\n"                                                                       \
    "  from = from + 100\n"                                                         \
    "until from >= live\n"                                                          \
    "return {2}\n"

/* ARGV: reap, id, ttl in ms. Returns 1, or 0 when it has ended. */
#define SCRIPT_RENEW                                       \
    LUA_LEASES                                             \
    "local found = held(ARGV[2])\n"                        \
    "if found then keep(ARGV[2], tonumber(ARGV[3])) end\n" \
    "reap()\n"                                             \
    "return found and 1 or 0\n"

/* ARGV: reap, id. Returns whether it was held. */
#define SCRIPT_RELEASE              \
    LUA_LEASES                      \
    "local found = held(ARGV[2])\n" \
    "let_go(ARGV[2])\n"             \
    "reap()\n"                      \
    "return found and 1 or 0\n"

/* ARGV: ms. Puts off the end of the first four keys; those of leases have their own. */
#define SCRIPT_OUTLIVE                                              \
    "for i = 1, 4 do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end\n" \
    "return 1\n"

/* ARGV: member, limit. Returns 1, or 0 when there is none. */
#define SCRIPT_LIMIT                                                       \
    "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and\n"                  \
    "    redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return 0 end\n" \
    "if ARGV[2] == '0' then\n"                                             \
    "  redis.call('HDEL', KEYS[4], ARGV[1])\n"                             \
    "else\n"                                                               \
    "  redis.call('HSET', KEYS[4], ARGV[1], ARGV[2])\n"                    \
    "end\n"                                                                \
    "return 1\n"

#endif
