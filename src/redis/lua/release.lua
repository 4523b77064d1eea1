-- Ends an ownership, if the contender has it under this very token, and passes the mutex on. In any
-- case the contender waits no longer.
-- ARGV: id, token ('0': none, it only leaves the queue), channel that tells of releases, 'cluster' or
--       'single', retention
--
-- The next one is who has waited longest. One of ours becomes the owner here and now, and a message
-- to its inbox tells it. One of the JVM library is told to try, and nobody else is served until it
-- has had the time for that. Who does not listen is passed over; in a cluster that cannot be known of
-- the JVM library's, which may listen at any node.

local id, token, releases, servers = unpack(ARGV)
local last = last_acquisition()

-- What makes a waiter the owner; nil where it would not hear of it.
local function grant(who, waiter)
  local inbox, secret, ttl, transition, instance =
    string.match(waiter, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
  if not inbox or not hears(inbox, last) then
    return nil
  end
  return function()
    return make_owner(who, ttl, transition, instance, last, function(its_token)
      local at = string.format('%.0f', math.floor(now / 1000))
      redis.call('PUBLISH', lock, 'acquired@@' .. who)
      redis.call('PUBLISH', inbox,
        table.concat({ 'granted', secret, its_token, ttl, transition, at }, ' '))
    end, inbox)
  end
end

-- Gives the JVM library's their place in the line. They know the second in which they came; who is
-- seen within it came just now.
local function line_up_others()
  local others, seconds = others_in_queue(last, id)
  local places = {}
  for i, who in ipairs(others) do
    places[#places + 1] = string.format('%.0f', math.min(now, seconds[i] * 1000000 + 999999))
    places[#places + 1] = who
  end
  if #places > 0 then
    redis.call('ZADD', line, 'NX', unpack(places))
    if redis.call('PTTL', line) < 0 then
      redis.call('PEXPIRE', line, 60000)
    end
  end
end

-- Tells one of the JVM library's to try. False where it does not wait any more, or is gone.
local function tell(who)
  return redis.call('ZSCORE', queue, who) and
    (redis.call('PUBLISH', lock .. ':' .. who, 'released@@' .. id) > 0 or servers == 'cluster')
end

-- Keeps the mutex for one that was told to try. Those of ours who are next wait for its release; the
-- first one is told, too, and sees to it that the mutex is not left to one that does not come.
local function reserve()
  local names, known, since = waiters_at(0, 100)
  local scores, behind = {}, ''
  for i, who in ipairs(names) do
    if known[i] and hears(inbox_of(known[i]), last) then
      scores[#scores + 1], scores[#scores + 2] = score_of(since[i]), who
      behind = behind == '' and who or behind
    end
  end
  if #scores > 0 then
    redis.call('ZADD', queue, 'NX', unpack(scores))
  end
  if behind ~= '' then
    redis.call('PUBLISH', lock .. ':' .. behind, 'released@@' .. id)
  end
  local span = last.owner == id and (last.ttl + last.transition) * 1000 / 80 or longest_reservation
  local till = now + math.min(span, longest_reservation)
  redis.call('HSET', fence, 'reserved', string.format('%.0f ', till) .. behind)
  keep_fence(0)
end

local function pass_on()
  mend_line()
  line_up_others()
  local place = 0  -- before it are those that are still settling
  local looked_at, count = 0, 1
  while looked_at < most_looked_at do
    local names, known, since = waiters_at(place, count)
    if #names == 0 then
      return nil
    end
    local gone, told, make_it_owner = {}, false, nil
    for i, who in ipairs(names) do
      if known[i] and is_settling(inbox_of(known[i]), since[i]) then
        place = place + 1
      else
        gone[#gone + 1] = who
        if known[i] then
          make_it_owner = grant(who, known[i])
        else
          told = tell(who)
        end
        if make_it_owner or told then
          break
        end
      end
    end
    -- First, since it may be refused: a mutex that has been granted is not given up any more.
    leave(gone)
    if make_it_owner then
      return make_it_owner()
    end
    if told then
      return reserve()
    end
    looked_at, count = looked_at + #names, 100
  end
end

local owner = redis.call('GET', lock)
local mine = owner == id and token ~= '0' and (last.owner ~= id or last.token == token)

if not mine then
  if is_queue_there() then
    leave({ id })
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
if last.granted or not done then  -- else who was not told would count as one that did not take it up
  redis.pcall('HDEL', fence, 'granted')
end
redis.pcall('PUBLISH', releases, 'released@@' .. id)
return free()
