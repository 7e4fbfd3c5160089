"""What Redis does in one breath, in its own Lua. Imported by `onetake.server.store.in_redis` only.

Every script gets the keys of a reply, of its events and of its writers, how long a reply is kept (s), how long a
lease lasts (ms), and its own arguments. All but "create" answer "unknown" if there is no such reply.
"""

_COMMON = """
local reply, events, writers = KEYS[1], KEYS[2], KEYS[3]
local kept_s, lease_ms = ARGV[1], tonumber(ARGV[2])
local known = redis.call('EXISTS', reply) == 1

local function get(name) return redis.call('HGET', reply, name) end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function log(name, data)
  redis.call('XADD', events, redis.call('HINCRBY', reply, 'last', 1) .. '-0', name, data)
  redis.call('HINCRBY', reply, 'characters', #data)
  redis.call('EXPIRE', reply, kept_s)
  redis.call('EXPIRE', events, kept_s)
  redis.call('EXPIRE', 'onetake:conversation:' .. get('conversation'), kept_s)
end

local function lease(take)
  redis.call('ZADD', writers, now_ms() + lease_ms, take)
  redis.call('PEXPIRE', writers, 2 * lease_ms)
end

local function writes(generation)
  return get('ending') == '' and get('generation') == generation
end
"""

_CREATE = """
if known then return 0 end
redis.call('HSET', reply, unpack(ARGV, 7))
redis.call('RPUSH', 'onetake:conversation:' .. ARGV[4], ARGV[3])
log('start', ARGV[6])
lease(ARGV[5])
return 1
"""

_UNKNOWN = """
if not known then return 'unknown' end
"""

_BODIES = {
    "append": """
if not writes(ARGV[3]) then return 'no' end
if ARGV[5] == '' and tonumber(get('characters')) > tonumber(ARGV[6]) then return 'full' end
for i = 7, #ARGV, 2 do log(ARGV[i], ARGV[i + 1]) end
redis.call('HSET', reply, 'length', ARGV[4], 'ending', ARGV[5])
return 'yes'
""",
    "rewind": """
if not writes(ARGV[3]) then return 0 end
redis.call('HSET', reply, 'generation', ARGV[3] + 1, 'length', ARGV[4], 'heard', '')
log('reset', ARGV[5])
return 1
""",
    # The new take's lease begins here, so that nobody takes its writer for lost before it has begun.
    "regenerate": """
local generation = redis.call('HINCRBY', reply, 'generation', 1)
local take = redis.call('HINCRBY', reply, 'take', 1)
redis.call('HSET', reply, 'length', 0, 'ending', '', 'heard', '', 'messages', '[]')
log('reset', '{"generation":' .. generation .. ',"at":0}')
lease(take)
return take
""",
    "stop": """
if get('ending') ~= '' then return 0 end
redis.call('HSET', reply, 'ending', 'stopped')
log('stopped', '{"generation":' .. get('generation') .. ',"length":' .. get('length') .. '}')
return tonumber(get('take'))
""",
    "hear": """
if get('generation') ~= ARGV[3] then return 0 end
redis.call('HSET', reply, 'heard', ARGV[4])
return 1
""",
    "save": """
if get('take') == ARGV[3] then redis.call('HSET', reply, 'messages', ARGV[4]) end
return 1
""",
    # Also while a take that is over is being torn down: those who come next wait for it.
    "renew": """
lease(ARGV[3])
return get('take') == ARGV[3] and get('ending') == '' and 1 or 0
""",
    "release": """
return redis.call('ZREM', writers, ARGV[3])
""",
    "writers": """
redis.call('ZREMRANGEBYSCORE', writers, '-inf', now_ms())
local found = 0
for _, take in ipairs(redis.call('ZRANGE', writers, 0, -1)) do
  if tonumber(take) < (tonumber(ARGV[3]) or math.huge) then found = found + 1 end
end
return found
""",
    "over": """
if get('ending') == '' then
  local until_ms = tonumber(redis.call('ZSCORE', writers, get('take')) or 0)
  if until_ms > now_ms() then return 0 end
  redis.call('HSET', reply, 'ending', 'error')
  log('error', '{"generation":' .. get('generation') .. ARGV[4])
end
return get('last') == ARGV[3] and 1 or 0
""",
}

SCRIPTS = {"create": _COMMON + _CREATE} | {name: _COMMON + _UNKNOWN + body for name, body in _BODIES.items()}
