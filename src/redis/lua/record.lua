-- Reads the record of a mutex, or replaces it. It stands alone, without common.lua.
--
-- KEYS: simba:{m}:record  hash: text, version; never expires
--       and, for a write by an owner: simba:{m}, simba:{m}:fence  (see common.lua)
-- ARGV: of a read nothing; of a write the text, the version that it replaces, not before when in
--       milliseconds or '', and, by an owner: its id, its token
--
-- Answers { outcome, version, text, the server's time in milliseconds }, with the record as it is
-- afterwards. The version of a record that was never written is '0'.

local record, lock, fence = unpack(KEYS)
local text, replaces, not_before, id, token = unpack(ARGV)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', record, 'version', 'text')
local version = found[1] or '0'

local function answer(outcome)
  return { outcome, version, found[2] or '', now }
end

local function is_owned()
  local last = redis.call('HMGET', fence, 'owner', 'token', 'since')
  if redis.call('GET', lock) ~= id or last[1] ~= id then
    return false
  end
  -- Granted again to the same owner, it is owned under all tokens since the first one.
  local first = string.match(last[3] or '', '^(%d+) ' .. last[2] .. '$') or last[2]
  return token == last[2] or
    (tonumber(first) <= tonumber(token) and tonumber(token) < tonumber(last[2]))
end

if not replaces then
  return answer('found')
end
if id and not is_owned() then
  return answer('not_owned')
end
if version ~= replaces then
  return answer('changed')
end
if not_before ~= '' and now < tonumber(not_before) then
  return answer('too_early')
end
version = string.format('%.0f', version + 1)
found[2] = text
redis.call('HSET', record, 'version', version, 'text', text)
return answer('written')
