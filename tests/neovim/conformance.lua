-- Runs the scenarios of `clients/conformance` with the plugin's own client. Their README explains them.

local errors = require("snapd.errors")
local folders = require("snapd.daemon.folders")
local task = require("snapd.task")

local M = {}

local PATIENCE = 60000
local POLL = 10

local function is_object(value)
  return type(value) == "table" and (not vim.islist(value) or getmetatable(value) == getmetatable(vim.empty_dict()))
end

local function is_array(value)
  return type(value) == "table" and not is_object(value)
end

local KINDS = {
  string = function(value)
    return type(value) == "string" and value ~= ""
  end,
  integer = function(value)
    return type(value) == "number" and value % 1 == 0
  end,
  boolean = function(value)
    return type(value) == "boolean"
  end,
  array = is_array,
  object = is_object,
  hash = function(value)
    return type(value) == "string" and #value == 40 and value:match("^[0-9a-f]+$") ~= nil
  end,
  time = function(value)
    return type(value) == "string" and value:match("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z$") ~= nil
  end,
}

local function use(kept, name)
  local value = kept[name]
  assert(value ~= nil, "nothing was kept as " .. tostring(name))
  return value
end

--- Params with what was kept in its places.
local function filled(value, kept)
  if is_object(value) and value["$use"] then
    return use(kept, value["$use"])
  elseif type(value) ~= "table" or next(value) == nil then
    return value
  end
  return vim.tbl_map(function(each)
    return filled(each, kept)
  end, value)
end

local function shown(value)
  return vim.inspect(value, { newline = " ", indent = "" })
end

local misfit

local function misfit_of_object(pattern, value, kept, at)
  if pattern["$use"] then
    return misfit(use(kept, pattern["$use"]), value, kept, at)
  elseif pattern["$is"] then
    if not KINDS[pattern["$is"]](value) then
      return ("%s: %s is no %s"):format(at, shown(value), pattern["$is"])
    end
    if pattern["$keep"] then
      kept[pattern["$keep"]] = value
    end
    return nil
  elseif pattern["$contains"] then
    local has = type(value) == "string" and value:find(pattern["$contains"], 1, true)
    return not has and ("%s: %s does not contain %s"):format(at, shown(value), pattern["$contains"]) or nil
  elseif pattern["$has"] then
    if not is_array(value) then
      return ("%s: %s is no array"):format(at, shown(value))
    end
    for _, wanted in ipairs(pattern["$has"]) do
      local has = vim.iter(value):any(function(each)
        return misfit(wanted, each, kept, at) == nil
      end)
      if not has then
        return ("%s: nothing in %s fits %s"):format(at, shown(value), shown(wanted))
      end
    end
    return nil
  elseif not is_object(value) then
    return ("%s: %s is no object"):format(at, shown(value))
  end
  for name, wanted in pairs(pattern) do
    local found = value[name]
    local here = at .. "." .. name
    if is_object(wanted) and wanted["$absent"] then
      if found ~= nil then
        return ("%s: there is %s"):format(here, shown(found))
      end
    elseif found == nil then
      return here .. " is not there"
    else
      local problem = misfit(wanted, found, kept, here)
      if problem then
        return problem
      end
    end
  end
  return nil
end

--- Where a value does not fit a pattern; nil if it does. What the pattern keeps goes into `kept`.
function misfit(pattern, value, kept, at)
  at = at or ""
  if is_object(pattern) then
    return misfit_of_object(pattern, value, kept, at)
  elseif type(pattern) == "table" then
    if not is_array(value) or #value ~= #pattern then
      return ("%s: %s is not an array of %d"):format(at, shown(value), #pattern)
    end
    for number, wanted in ipairs(pattern) do
      local problem = misfit(wanted, value[number], kept, ("%s[%d]"):format(at, number - 1))
      if problem then
        return problem
      end
    end
    return nil
  end
  local is_same = type(pattern) == type(value) and pattern == value
  return not is_same and ("%s: %s is not %s"):format(at, shown(value), shown(pattern)) or nil
end

--- Whether a value fits a pattern; both as JSON texts.
function M.fits(pattern, value)
  return misfit(vim.json.decode(pattern), vim.json.decode(value), {}) == nil
end

local function write(folder, files)
  for name, text in pairs(files) do
    local path = vim.fs.joinpath(folder, name)
    if text == vim.NIL then
      assert(vim.uv.fs_unlink(path))
    else
      vim.fn.mkdir(vim.fs.dirname(path), "p")
      local file = assert(io.open(path, "wb"))
      file:write(text)
      file:close()
    end
  end
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local text = file:read("*a")
  file:close()
  return text
end

--- What the daemon answers, as a scenario describes it.
local function ask(connection, method, params)
  local ok, answer = pcall(connection.ask, connection, method, params)
  if ok then
    return { result = answer }
  elseif not errors.is_error(answer) then
    error(answer, 0)
  end
  return { error = { code = answer.code, kind = answer.kind, data = answer.data } }
end

--- Does with a buffer what a document action says.
local function edit(connection, action)
  local path = vim.fs.joinpath(connection.root, action.file)
  if action.document == "open" then
    vim.cmd.edit(vim.fn.fnameescape(path))
    return
  end
  local buf = vim.fn.bufnr(path)
  if action.document == "change" then
    local lines = vim.split(action.text:gsub("\n$", ""), "\n", { plain = true })
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
    -- as the plugin does before each request that writes
    connection:flush()
  elseif action.document == "save" then
    vim.api.nvim_buf_call(buf, vim.cmd.write)
  else
    vim.api.nvim_buf_delete(buf, { force = true })
  end
end

--- Runs a scenario; within a task.
local function run(scenario, kept)
  local folder = kept.folder
  require("snapd").setup({
    root = function()
      return folder
    end,
  })
  write(folder, scenario.files or {})
  local connection = folders.open(folder)
  local heard, next_one = {}, 1
  connection:listen(function(method, params)
    heard[#heard + 1] = { method = method, params = params }
  end)
  for at, action in ipairs(scenario.actions) do
    local here = ("action %d (%s)"):format(at - 1, shown(action))
    if action.request then
      local answer = ask(connection, action.request, filled(action.params, kept))
      local problem = misfit({ result = action.result, error = action.error }, answer, kept)
      assert(not problem, here .. tostring(problem))
    elseif action.write then
      write(folder, action.write)
    elseif action.holds then
      for name, text in pairs(action.holds) do
        local found = read(vim.fs.joinpath(folder, name))
        assert(found == (text ~= vim.NIL and text or nil), here .. ": there is " .. shown(found))
      end
    elseif action.notification then
      local deadline = vim.uv.now() + PATIENCE
      local found = false
      while not found do
        while heard[next_one] and not found do
          local each = heard[next_one]
          next_one = next_one + 1
          found = each.method == action.notification and misfit(action.params, each.params, kept) == nil
        end
        assert(found or vim.uv.now() < deadline, here .. " did not come: " .. shown(heard))
        if not found then
          task.sleep(POLL)
        end
      end
    else
      edit(connection, action)
    end
  end
end

M.ended = {}

--- Begins a scenario, a JSON text; `ended` says by its name what went wrong, or that nothing did.
function M.begin(name, scenario, kept)
  task.run(function()
    run(vim.json.decode(scenario), kept)
  end, function(err)
    M.ended[name] = tostring(err)
  end, function()
    M.ended[name] = M.ended[name] or "well"
  end)
end

return M
