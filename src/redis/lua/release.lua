-- Ends an ownership, if the contender has it under this very token, and passes the mutex on. In any
-- case the contender waits no longer.
-- ARGV: id, token ('0': none, it only leaves the queue), channel that tells of releases
--
-- The next one is who has waited longest. One of ours becomes the owner here and now, and a message
-- to its inbox tells it. One of the JVM library is told to try. Who does not listen is passed over.

local id, token, releases = unpack(ARGV)
local last = last_acquisition()

local function grant(who, waiter)
  local inbox, number, ttl, transition = string.match(waiter, '^(%S+) (%d+) (%d+) (%d+)$')
  if not inbox or not is_heard(inbox) then
    return nil
  end
  local answer = make_owner(who, ttl, transition, last)
  local at = string.format('%.0f', math.floor(now / 1000))
  redis.call('PUBLISH', inbox,
    table.concat({ 'granted', number, answer[2], ttl, transition, at }, ' '))
  redis.call('PUBLISH', lock, 'acquired@@' .. who)
  return answer
end

-- The second decides between ours and others, and the microsecond among ours.
local function next_in_line(place)
  local first = redis.call('ZRANGE', queue, place, place)[1]
  local ours, waiter, since = waiter_at(place)
  if first and first ~= ours and redis.call('HEXISTS', waiters, first) == 0 then
    return first, nil
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
    else
      leave(who)
      if waiter then
        local answer = grant(who, waiter)
        if answer then
          return answer
        end
      elseif redis.call('PUBLISH', lock .. ':' .. who, 'released@@' .. id) > 0 then
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

local passed_on = is_queue_there() and pass_on()
if passed_on then
  return passed_on
end
redis.call('DEL', lock)
redis.call('PUBLISH', releases, 'released@@' .. id)
return free()
