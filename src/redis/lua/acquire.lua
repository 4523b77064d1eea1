-- Makes a contender the owner if nobody else is; else lets it wait in line.
-- ARGV: id, ttl, transition, inbox or '-', number of the waiter, instance, token of a namesake that
--       is taken over ('0': of none)

local id, ttl, transition, inbox, number, instance, takes_over = unpack(ARGV)

-- Those that came first and are gone, a few at a time: so the line does not grow for ever where
-- waiters come and die and nobody releases.
local function drop_the_dead()
  for _ = 1, 4 do
    local first, waiter, since = waiter_at(0)
    local its_inbox = first and string.match(waiter, '^%S*')
    if not first or first == id or is_settling(its_inbox, since) or is_heard(its_inbox) then
      return
    end
    leave(first)
  end
end

local owner = redis.call('GET', lock)
local last = last_acquisition()

if owner == id and is_namesake(last, id, instance) and last.token ~= takes_over then
  return held_by(owner, last)
end

if not owner or owner == id then
  if is_queue_there() then
    leave(id)
  end
  return make_owner(id, ttl, transition, instance, last, function()
    redis.call('PUBLISH', lock, 'acquired@@' .. id)
  end)
end

local answer = held_by(owner, last)
drop_the_dead()
redis.call('ZADD', queue, 'NX', time[1], id)
redis.call('ZADD', line, 'NX', string.format('%.0f', now), id)
redis.call('HSET', waiters, id, table.concat({ inbox, number, ttl, transition, instance }, ' '))
-- Whoever waits asks again when the lease ends, and so keeps these. A queue of dead ends. What the
-- JVM library waits in does not.
local kept = string.format('%.0f', math.max(redis.call('PTTL', line), answer[3] + 60000))
redis.call('PEXPIRE', line, kept)
redis.call('PEXPIRE', waiters, kept)
if redis.call('ZCARD', queue) > redis.call('ZCARD', line) then
  redis.call('PERSIST', queue)
else
  redis.call('PEXPIRE', queue, kept)
end
return answer
