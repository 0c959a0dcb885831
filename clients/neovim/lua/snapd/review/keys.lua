--- The keys in buffers of files.

local config = require("snapd.config")

local M = {}

---@class snapd.Mapping
---@field plug string
---@field run fun()
---@field desc string
---@field visual? boolean whether it is also for selected lines

---@type table<string, snapd.Mapping>
local MAPPINGS = {
  next_hunk = {
    plug = "<Plug>(snapd-next-hunk)",
    desc = "go to the next pending hunk",
    run = function()
      require("snapd.review.moving").go(1, vim.v.count1)
    end,
  },
  previous_hunk = {
    plug = "<Plug>(snapd-previous-hunk)",
    desc = "go to the previous pending hunk",
    run = function()
      require("snapd.review.moving").go(-1, vim.v.count1)
    end,
  },
  keep_hunk = {
    plug = "<Plug>(snapd-keep-hunk)",
    desc = "keep the pending hunk under the cursor",
    run = function()
      require("snapd.review.pending").keep_hunk()
    end,
  },
  undo_hunk = {
    plug = "<Plug>(snapd-undo-hunk)",
    desc = "undo the pending hunk under the cursor",
    run = function()
      require("snapd.review.pending").undo_hunk()
    end,
  },
  show_hunk = {
    plug = "<Plug>(snapd-show-hunk)",
    desc = "show the pending hunk under the cursor",
    run = function()
      require("snapd.review.pending").show_hunk()
    end,
  },
  blame = {
    plug = "<Plug>(snapd-blame)",
    desc = "show or hide who wrote the line",
    run = function()
      require("snapd.blame").toggle()
    end,
  },
  comment = {
    plug = "<Plug>(snapd-comment)",
    desc = "comment on the line, or the selected lines",
    visual = true,
    run = function()
      local first, last = vim.fn.line("v"), vim.fn.line(".")
      if vim.api.nvim_get_mode().mode ~= "n" then
        vim.api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
      end
      require("snapd.review.comments").comment(math.min(first, last), math.max(first, last), "")
    end,
  },
}

--- The modes that a mapping is for.
---@param mapping snapd.Mapping
---@return string[]
local function modes(mapping)
  return mapping.visual and { "n", "x" } or { "n" }
end

--- Makes what users map other keys to.
function M.define()
  for _, mapping in pairs(MAPPINGS) do
    vim.keymap.set(modes(mapping), mapping.plug, mapping.run, { silent = true, desc = "snapd: " .. mapping.desc })
  end
end

--- Maps the keys in the buffer of a file, unless the user has mapped them.
---@param buf integer
function M.map(buf)
  for name, key in pairs(config.get().keys) do
    local taken = key and vim.api.nvim_buf_call(buf, function()
      return vim.fn.maparg(key, "n") ~= ""
    end)
    if key and not taken then
      local mapping = MAPPINGS[name]
      vim.keymap.set(modes(mapping), key, function()
        -- ]s and [s go to misspelled words if spell checking is on
        if vim.wo.spell and (key == "]s" or key == "[s") then
          vim.cmd.normal({ vim.v.count1 .. key, bang = true })
        else
          mapping.run()
        end
      end, { buffer = buf, silent = true, desc = "snapd: " .. mapping.desc })
    end
  end
end

return M
