-- Begins the lease anew if the contender is the owner. With an empty id it only tells who is.
-- ARGV: id, ttl, transition
--
-- It touches no more than the two keys that exist while the mutex is owned, and sets nothing but
-- their expiry: so it works while a cluster moves the slot, and on a server that is out of memory.

local id, ttl, transition = unpack(ARGV)

local owner = redis.call('GET', lock)
if not owner then
  return free()
end

local answer = held_by(owner)
if owner ~= id then
  return answer
end
if answer[2] == '0' then  -- the fence was evicted or deleted
  return make_owner(id, ttl, transition)
end

local lease = ttl + transition
redis.call('PEXPIRE', lock, string.format('%.0f', lease))
keep_fence(lease)
if answer[4] ~= tonumber(ttl) or answer[5] ~= tonumber(transition) then
  redis.call('HSET', fence, 'ttl', ttl, 'transition', transition)
end
return held(id, answer[2], lease, ttl, transition)
