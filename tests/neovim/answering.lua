-- Answers tests: runs the Lua that comes on a socket, one JSON text a line, and gives back what it returns.

local path = assert(vim.env.SNAPD_TEST_SOCKET)
vim.env.SNAPD_TEST_SOCKET = nil

-- every message is there for the tests, and none makes Neovim wait for a key
_G.messages = {}
vim.notify = function(message, level)
  table.insert(_G.messages, { message = message, level = level or vim.log.levels.INFO })
end

local function answer(text)
  local asked = vim.json.decode(text)
  local run, problem = load(asked.code, "=test")
  if not run then
    return { error = problem }
  end
  local ok, result = xpcall(run, debug.traceback, unpack(asked.args))
  if not ok then
    return { error = tostring(result) }
  end
  return { result = result == nil and vim.NIL or result }
end

local server = assert(vim.uv.new_pipe(false))
assert(server:bind(path))
server:listen(8, function()
  local peer = assert(vim.uv.new_pipe(false))
  server:accept(peer)
  local buffered = ""
  peer:read_start(function(_, chunk)
    if not chunk then
      peer:close()
      return
    end
    buffered = buffered .. chunk
    while true do
      local line, rest = buffered:match("^([^\n]*)\n(.*)$")
      if not line then
        break
      end
      buffered = rest
      vim.schedule(function()
        peer:write(vim.json.encode(answer(line)) .. "\n")
      end)
    end
  end)
end)
