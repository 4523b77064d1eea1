-- Makes a contender the owner if nobody else is; else lets it wait in line.
-- ARGV: id, ttl, transition, inbox or '-', secret of the wait, instance, token of a namesake that is
--       taken over ('0': of none), retention

local id, ttl, transition, inbox, secret, instance, takes_over = unpack(ARGV)

local owner = redis.call('GET', lock)
local last = last_acquisition()

-- Those that came first and are gone, some at a time: so the line does not grow for ever where
-- waiters come and die and nobody releases.
local function drop_the_dead()
  local function waits(who, waiter, since)
    if not waiter then  -- of the JVM library
      return redis.call('ZSCORE', queue, who)
    end
    return is_settling(inbox_of(waiter), since) or hears(inbox_of(waiter), last)
  end
  for _, count in ipairs({ 1, 100 }) do
    local names, known, since = waiters_at(0, count)
    local gone = {}
    for i, who in ipairs(names) do
      if who == id or waits(who, known[i], since[i]) then
        break
      end
      gone[#gone + 1] = who
    end
    leave(gone)
    if #gone < count then
      return
    end
  end
end

-- Nobody has taken up what was granted there: none who wait there keep others waiting. Where these
-- are too many to look at, a release passes over the rest.
local function give_up(granted)
  local names, known = waiters_at(0, most_looked_at)
  local gone = {}
  for i, who in ipairs(names) do
    if known[i] and inbox_of(known[i]) == granted then
      gone[#gone + 1] = who
    end
  end
  leave(gone)
  redis.call('HSET', fence, 'dead', granted)
end

-- True while one of the JVM library's, which was told to try, has time to do so. It has when it
-- releases, too, and so takes who waits behind it out of the queue.
local function is_reserved()
  local till, behind = string.match(last.reserved or '', '^(%d+) (.*)$')
  local left = (tonumber(till) or 0) - now
  return left > 0 and left <= longest_reservation and
    (behind == '' or redis.call('ZSCORE', queue, behind))
end

if owner == id and is_namesake(last, id, instance) and last.token ~= takes_over then
  return held_by(owner, last)
end

if owner == id or (not owner and not is_reserved()) then
  if is_queue_there() then
    leave({ id })
  end
  if not owner and last.granted and last.granted ~= inbox then
    give_up(last.granted)
  end
  return make_owner(id, ttl, transition, instance, last, function()
    redis.call('PUBLISH', lock, 'acquired@@' .. id)
  end)
end

local answer = owner and held_by(owner, last) or free()
-- The owner counts a whole lease from before it was last renewed. Only where the server's clock was
-- set back is more left.
local whole = owner and last.owner == owner and last.ttl + last.transition
if whole and answer[3] > whole then
  redis.call('PEXPIRE', lock, string.format('%.0f', whole))
  answer[3] = whole
end
if last.dead == inbox then
  redis.call('HDEL', fence, 'dead')
  last.dead = nil
end
mend_line()
drop_the_dead()
redis.call('ZADD', line, 'NX', string.format('%.0f', now), id)
redis.call('HSET', waiters, id, table.concat({ inbox, secret, ttl, transition, instance }, ' '))
-- One of the JVM library's owns it, or is about to.
if not owner or last.owner ~= owner then
  others_in_queue(last, id)
  redis.call('ZADD', queue, 'NX', score_of(redis.call('ZSCORE', line, id)), id)
end
if owner and last.owner ~= owner then
  redis.call('ZREM', line, owner)
  if last.reserved then
    redis.call('HDEL', fence, 'reserved')
  end
end
-- Whoever waits asks again when the lease ends, and so keeps these. A line of dead ends.
local kept = string.format('%.0f', math.max(redis.call('PTTL', line), answer[3] + 60000))
redis.call('PEXPIRE', line, kept)
redis.call('PEXPIRE', waiters, kept)
return answer
