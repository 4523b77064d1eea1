-- Makes a contender the owner if nobody else is; else lets it wait in line.
-- ARGV: id, ttl, transition, inbox or '-', secret of the wait, instance, token of a namesake that is
--       taken over ('0': of none), retention

local id, ttl, transition, inbox, secret, instance, takes_over = unpack(ARGV)

local owner = redis.call('GET', lock)
local last = last_acquisition()

-- Those that came first and are gone, a few at a time: so the line does not grow for ever where
-- waiters come and die and nobody releases.
local function drop_the_dead()
  for _ = 1, 4 do
    local first, since = unpack(redis.call('ZRANGE', line, 0, 0, 'WITHSCORES'))
    if not first or first == id then
      return
    end
    local waiter = redis.call('HGET', waiters, first)
    local its_inbox = waiter and string.match(waiter, '^%S*')
    if not waiter then  -- of the JVM library
      if redis.call('ZSCORE', queue, first) then
        return
      end
    elseif is_settling(its_inbox, since) or
        (its_inbox ~= last.dead and is_heard(its_inbox)) then
      return
    end
    leave(first)
  end
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
    leave(id)
  end
  if not owner and last.granted and last.granted ~= inbox then  -- nobody has taken it up
    redis.call('HSET', fence, 'dead', last.granted)
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
end
drop_the_dead()
redis.call('ZADD', line, 'NX', string.format('%.0f', now), id)
redis.call('HSET', waiters, id, table.concat({ inbox, secret, ttl, transition, instance }, ' '))
-- One of the JVM library's owns it, or is about to.
if not owner or last.owner ~= owner then
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
