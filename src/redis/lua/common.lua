-- Put before the scripts that acquire, guard and release.
--
-- The keys of a mutex m, in the order in which a script gets those that it needs:
--   simba:{m}            string, the owner's id; expires with the lease   (the JVM library's, too)
--   simba:{m}:fence      hash of our newest acquisition: owner, token, ttl, transition, instance;
--                        and at times:
--                        granted   the inbox of an owner that was told by message, until it renews
--                        dead      an inbox whose last grant was not taken up
--                        reserved  '<until, in microseconds> <who of ours waits behind the one that
--                                  we told to try, or nothing>'
--                        since     '<first token> <token>' of an owner that was granted it again
--   simba:{m}:contender  sorted set: who of the JVM library's waits, by second; of ours, who waits
--                        while one of the JVM library's owns it            (the JVM library's, too)
--   simba:{m}:line       sorted set of all who wait, by microsecond: ours since they came, the JVM
--                        library's since we saw them
--   simba:{m}:waiters    hash of ours: id -> '<inbox> <secret> <ttl> <transition> <instance>', where
--                        the inbox is '-' as long as the waiter does not listen
--
-- The secret is of one wait, in decimal digits. A waiter believes a grant by it, so it is published
-- in the grant and nowhere else.
--
-- The instance is a random number of the process, or more exactly of its factory. By it an owner is
-- told from another one with the same id. '0' tells nothing.
--
-- Each script answers { owner or '', token, ms left, ttl, transition, seconds, microseconds,
-- instance }, where seconds and microseconds are the server's time. The token is '0' where the owner
-- is not one of ours.

local lock, fence, queue, line, waiters = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- The last argument of each script: how long after its lease a mutex keeps its newest token. Since
-- tokens are never behind the server's clock they grow after that, too.
local retention = ARGV[#ARGV]

-- How long, in microseconds, a mutex is kept at most for one of the JVM library's that was told to
-- try.
local longest_reservation = 200000

local function next_token(last)
  return string.format('%.0f', math.max((tonumber(last) or 0) + 1, now))
end

local function held(owner, token, left, ttl, transition, instance)
  return { owner, token, left, tonumber(ttl), tonumber(transition), time[1], time[2], instance }
end

local function free()
  return { '', '0', 0, 0, 0, time[1], time[2], '0' }
end

-- Our newest acquisition. Its token is the last one, whoever owns the mutex now.
local function last_acquisition()
  local found = redis.call('HMGET', fence, 'owner', 'token', 'ttl', 'transition', 'instance',
    'granted', 'dead', 'reserved', 'since')
  return { owner = found[1], token = found[2], ttl = found[3], transition = found[4],
    instance = found[5] or '0', granted = found[6], dead = found[7], reserved = found[8],
    since = found[9] }
end

-- True where the newest acquisition is of another process with that very id.
local function is_namesake(last, id, instance)
  return last.owner == id and last.instance ~= instance and last.instance ~= '0' and instance ~= '0'
end

local function held_by(owner, last)
  local left = redis.call('PTTL', lock)
  if last.owner ~= owner then
    return held(owner, '0', left, 0, 0, '0')
  end
  return held(owner, last.token, left, last.ttl, last.transition, last.instance)
end

local function keep_fence(lease)
  redis.call('PEXPIRE', fence, string.format('%.0f', lease + retention))
end

-- Lets `tell` tell whom it concerns, and makes it so. `inbox` is of one that is told by message. A
-- script that fails half-way, because something is refused, must not leave an owner behind that does
-- not know it: so telling comes first. Who is told by message believes that at once, so there it comes
-- last, and the caller gives the mutex up if anything fails.
local function make_owner(id, ttl, transition, instance, last, tell, inbox)
  local lease = ttl + transition
  local token = next_token(last.token)
  local fields = { 'owner', id, 'token', token, 'ttl', ttl, 'transition', transition, 'instance',
    instance }
  if inbox then
    fields[11], fields[12] = 'granted', inbox
  end
  redis.call('HSET', fence, unpack(fields))
  if last.reserved or (last.granted and not inbox) then
    redis.call('HDEL', fence, 'reserved', inbox and 'reserved' or 'granted')
  end
  -- Its request has crossed its grant: it may act under either token. The present one is kept
  -- beside the first one, so that nothing is read into what an older version leaves behind.
  if last.owner == id and last.instance == instance and redis.call('GET', lock) == id then
    local first = string.match(last.since or '', '^(%d+) ' .. last.token .. '$') or last.token
    redis.call('HSET', fence, 'since', first .. ' ' .. token)
  end
  keep_fence(lease)
  if not inbox then
    tell(token)
  end
  redis.call('SET', lock, id, 'PX', string.format('%.0f', lease))
  if inbox then
    tell(token)
  end
  return held(id, token, lease, ttl, transition, instance)
end

-- True where someone listens on the inbox at this very server. In a cluster a message would reach
-- listeners at other nodes, too, but late: a grant is worth nothing to them.
local function is_heard(inbox)
  return inbox ~= '-' and redis.call('PUBSUB', 'NUMSUB', inbox)[2] > 0
end

-- True of who came a moment ago and is about to listen: it keeps its place, but gets nothing yet.
local function is_settling(inbox, since)
  return inbox == '-' and now - since < 5000000
end

-- Whether someone hears of a grant there, and takes it up as far as is known. Asked once for each.
local inboxes = {}
local function hears(inbox, last)
  if inboxes[inbox] == nil then
    inboxes[inbox] = inbox ~= last.dead and is_heard(inbox)
  end
  return inboxes[inbox]
end

local function inbox_of(waiter)
  return string.match(waiter, '^%S*')
end

-- How many waiters are looked at, at most, so that a line of dead does not hold up the server.
local most_looked_at = 1000

-- Some of the line: names, what is known of each (of the JVM library's: false), since when it waits.
local function waiters_at(place, count)
  local found = redis.call('ZRANGE', line, place, place + count - 1, 'WITHSCORES')
  local names, since = {}, {}
  for i = 1, #found, 2 do
    names[#names + 1], since[#since + 1] = found[i], tonumber(found[i + 1])
  end
  return names, #names > 0 and redis.call('HMGET', waiters, unpack(names)), since
end

-- Takes these out of the queue.
local function leave(names)
  if #names > 0 then
    redis.call('ZREM', queue, unpack(names))
    redis.call('ZREM', line, unpack(names))
    redis.call('HDEL', waiters, unpack(names))
  end
end

-- The first of the JVM library's queue: those that are not ours, and the second in which each came.
-- A release of that library would be lost on those of ours that hear nothing: they leave this queue,
-- but keep their place in the line. `asking` does not, which may be about to listen.
local function others_in_queue(last, asking)
  local found = redis.call('ZRANGE', queue, 0, 99, 'WITHSCORES')
  local others, seconds, ours, deaf = {}, {}, {}, {}
  for i = 1, #found, 2 do
    local who, second = found[i], tonumber(found[i + 1])
    if second == math.floor(second) then
      others[#others + 1], seconds[#seconds + 1] = who, second
    elseif who ~= asking then
      ours[#ours + 1] = who
    end
  end
  local known = #ours > 0 and redis.call('HMGET', waiters, unpack(ours))
  for i, who in ipairs(ours) do
    if not known[i] or not hears(inbox_of(known[i]), last) then
      deaf[#deaf + 1] = who
    end
  end
  if #deaf > 0 then
    redis.call('ZREM', queue, unpack(deaf))
  end
  return others, seconds
end

local function is_queue_there()
  return redis.call('EXISTS', queue, line, waiters) > 0
end

-- By which score one of ours waits for the release of a JVM owner, which wakes the lowest. The
-- fraction tells ours from others. They are before others of the same second, which wait for a release
-- of ours instead: that knows better who came first.
local function score_of(since)
  return string.format('%.7f', math.floor(since / 1000000) - 0.5 + since % 1000000 * 4e-7)
end

-- Waiters whose time is later than now came before the server's clock was set back. Moves them to just
-- before now, in the same order, so that nobody who comes from now on precedes them. Done before anyone
-- joins the line, so each step of the clock is mended once.
local function mend_line()
  local place, count = now, 1
  while true do
    local found = redis.call('ZRANGE', line, -count, -1, 'WITHSCORES')
    local places = {}
    for i = #found, 2, -2 do
      if tonumber(found[i]) <= now then
        break
      end
      place = place - 1
      places[#places + 1], places[#places + 2] = string.format('%.0f', place), found[i - 1]
    end
    if #places == 0 then
      return
    end
    redis.call('ZADD', line, unpack(places))
    local shared = redis.call('EXISTS', queue) == 1
    for i = 2, shared and #places or 0, 2 do
      local second = tonumber(redis.call('ZSCORE', queue, places[i]) or 0)
      if second ~= math.floor(second) then  -- one of ours; the JVM library's keep theirs
        redis.call('ZADD', queue, score_of(places[i - 1]), places[i])
      end
    end
    count = 1000
  end
end
