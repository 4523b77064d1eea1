-- Ends an ownership, if the contender has it under this very token, and passes the mutex on. In any
-- case the contender waits no longer.
-- ARGV: id, token ('0': none, it only leaves the queue), channel that tells of releases, 'cluster' or
--       'single'
--
-- The next one is who has waited longest. One of ours becomes the owner here and now, and a message
-- to its inbox tells it. One of the JVM library is told to try. Who does not listen is passed over;
-- in a cluster that cannot be known of the JVM library's, which may listen at any node.

local id, token, releases, servers = unpack(ARGV)
local last = last_acquisition()

local function grant(who, waiter)
  local inbox, number, ttl, transition, instance =
    string.match(waiter, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
  if not inbox or not is_heard(inbox) then
    return nil
  end
  return make_owner(who, ttl, transition, instance, last, function(its_token)
    local at = string.format('%.0f', math.floor(now / 1000))
    redis.call('PUBLISH', lock, 'acquired@@' .. who)
    redis.call('PUBLISH', inbox,
      table.concat({ 'granted', number, its_token, ttl, transition, at }, ' '))
  end)
end

-- The second decides between ours and others, and the microsecond among ours.
local function next_in_line(place)
  local first = redis.call('ZRANGE', queue, place, place)[1]
  local ours, waiter, since = waiter_at(place)
  if first and first ~= ours then
    local known = redis.call('HGET', waiters, first)
    if not known or not ours then
      return first, known, 0
    end
  end
  return ours, waiter, since
end

local function pass_on()
  local place = 0  -- before it are those that are still settling
  while true do
    local who, waiter, since = next_in_line(place)
    if not who then
      return nil
    end
    if waiter and is_settling(string.match(waiter, '^%S*'), since) then
      place = place + 1
    elseif waiter then
      local answer = grant(who, waiter)
      leave(who)
      if answer then
        return answer
      end
    else
      leave(who)
      local heard = redis.call('PUBLISH', lock .. ':' .. who, 'released@@' .. id)
      if heard > 0 or servers == 'cluster' then
        return nil
      end
    end
  end
end

local owner = redis.call('GET', lock)
local mine = owner == id and token ~= '0' and (last.owner ~= id or last.token == token)

if not mine then
  if is_queue_there() then
    leave(id)
  end
  return owner and held_by(owner, last) or free()
end

-- Whatever is wrong with the queue, or refused: the mutex is given up.
local done, passed_on = pcall(function()
  return is_queue_there() and pass_on()
end)
if done and passed_on then
  return passed_on
end
redis.call('DEL', lock)
redis.pcall('PUBLISH', releases, 'released@@' .. id)
return free()
