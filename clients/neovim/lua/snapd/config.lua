--- The options of the plugin: what they are, and what they are by default.

local M = {}

---@class snapd.Keys
---@field next_hunk string|false
---@field previous_hunk string|false
---@field keep_hunk string|false
---@field undo_hunk string|false
---@field show_hunk string|false
---@field blame string|false
---@field comment string|false

---@class snapd.Options
---@field cmd string[] the command that speaks with the daemon on its stdin and stdout
---@field root fun(path: string): string? the folder whose daemon gets the file; nil to ignore the file
---@field width integer columns of the window with the steps
---@field keys snapd.Keys the keys in buffers of files; false for none

--- The git working tree around a file; else the current directory, if the file is in it.
---@param path string
---@return string?
local function root(path)
  local found = vim.fs.root(path, ".git")
  if found then
    return found
  end
  local cwd = vim.fs.normalize(assert(vim.uv.cwd()))
  return vim.startswith(path, cwd == "/" and cwd or cwd .. "/") and cwd or nil
end

---@type snapd.Options
local DEFAULTS = {
  cmd = { "snapd", "connect" },
  root = root,
  width = 50,
  keys = {
    next_hunk = "]s",
    previous_hunk = "[s",
    keep_hunk = "<leader>sk",
    undo_hunk = "<leader>su",
    show_hunk = "<leader>sp",
    blame = "<leader>sb",
    comment = "<leader>sc",
  },
}

---@type snapd.Options?
local options

--- Raises an error for an option that is none, or that has another type than its default.
---@param given table
---@param defaults table
---@param prefix string
local function check(given, defaults, prefix)
  for name, value in pairs(given) do
    local default = defaults[name]
    local key = prefix .. tostring(name)
    if default == nil then
      error(("snapd: there is no option %s. See :help snapd-options."):format(key), 0)
    end
    local may_be_off = prefix == "keys." and value == false
    if type(value) ~= type(default) and not may_be_off then
      error(("snapd: the option %s must be a %s. See :help snapd-options."):format(key, type(default)), 0)
    end
    if key == "keys" then
      check(value, default, "keys.")
    end
  end
end

--- Sets options; those that are not given keep their defaults.
---@param given? table
function M.set(given)
  given = given or {}
  check(given, DEFAULTS, "")
  local merged = vim.tbl_deep_extend("force", DEFAULTS, given)
  -- a list is replaced, not merged
  merged.cmd = given.cmd or DEFAULTS.cmd
  options = merged
end

--- The options in effect: those of `setup`, else those of `vim.g.snapd`.
---@return snapd.Options
function M.get()
  if not options then
    M.set(vim.g.snapd)
  end
  return options --[[@as snapd.Options]]
end

return M
