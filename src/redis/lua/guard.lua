-- Restarts the lease if the contender is the owner, and not a namesake of it. With an empty id it only
-- tells who is.
-- ARGV: id, ttl, transition, instance, retention
--
-- It touches no more than the two keys that exist while the mutex is owned, and adds nothing to them:
-- so it works while a cluster moves the slot, and on a server that is out of memory.

local id, ttl, transition, instance = unpack(ARGV)

local owner = redis.call('GET', lock)
if not owner then
  return free()
end

local last = last_acquisition()
if id == '' or owner ~= id then
  return held_by(owner, last)
end
if is_namesake(last, id, instance) then
  return held_by(owner, last)
end
if last.owner ~= id then  -- the fence was evicted or deleted
  return make_owner(id, ttl, transition, instance, last, function() end)
end

local lease = ttl + transition
redis.call('PEXPIRE', lock, string.format('%.0f', lease))
keep_fence(lease)
if last.ttl ~= ttl or last.transition ~= transition then
  redis.call('HSET', fence, 'ttl', ttl, 'transition', transition)
end
if last.granted then
  redis.call('HDEL', fence, 'granted')
end
return held(id, last.token, lease, ttl, transition, last.instance)
