// snapd: the plugin for OpenCode. It tells `snapd hook opencode` what OpenCode does; README.md has each event.
// `snapd agent install opencode` puts it into ~/.config/opencode/plugins, with the path of the program, and
// `snapd agent uninstall opencode` takes it out. From npm it is @snapd/opencode, and finds the program on the PATH.
import { spawn, spawnSync } from "node:child_process"

const PROGRAM = "snapd"
const LIMIT = 10_000 // milliseconds; snapd gives up long before
// these write nothing
const READS = new Set("read grep glob list lsp webfetch websearch codesearch todoread todowrite question skill".split(" "))

export const SnapdPlugin = async ({ directory }, options) => {
  const program = options?.program ?? PROGRAM
  const parents = new Map() // of sessions of subagents: the session that called them
  const messages = new Map() // of each session: the message that it works on
  const untold = new Map() // of each session: what the agent is still to be told

  const line = (event, sessionID, more) => {
    const known = { messageID: messages.get(sessionID), parentID: parents.get(sessionID) }
    return JSON.stringify({ event, sessionID, directory, ...known, ...more })
  }
  const heard = (sessionID, answer) => {
    try {
      const { additionalContext } = JSON.parse(answer)
      if (additionalContext) untold.set(sessionID, [...(untold.get(sessionID) ?? []), additionalContext])
    } catch {
      // no answer is the usual one
    }
  }
  const tell = (event, sessionID, more = {}) =>
    new Promise((done) => {
      const child = spawn(program, ["hook", "opencode"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT })
      let answer = ""
      child.stdout.on("data", (data) => (answer += data))
      child.stdin.on("error", () => {})
      child.on("error", () => done())
      child.on("close", () => done(heard(sessionID, answer)))
      child.stdin.end(line(event, sessionID, more))
    })
  // OpenCode may end right after these, without waiting for a plugin
  const tellNow = (event, sessionID) =>
    spawnSync(program, ["hook", "opencode"], { cwd: directory, input: line(event, sessionID), stdio: ["pipe", "ignore", "ignore"], timeout: LIMIT })

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      messages.set(sessionID, message.id)
      const prompt = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\n")
      await tell("chat.message", sessionID, { prompt })
      const said = untold.get(sessionID)
      untold.delete(sessionID)
      if (!said) return
      const id = `prt_${Date.now().toString(16)}${Math.random().toString(36).slice(2, 16)}`
      parts.push({ id, sessionID, messageID: message.id, type: "text", text: said.join("\n"), synthetic: true })
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      if (!READS.has(tool)) await tell("tool.execute.before", sessionID, { callID, tool, args })
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }) => {
      if (!READS.has(tool)) await tell("tool.execute.after", sessionID, { callID, tool, args })
    },
    event: async ({ event: { type, properties } }) => {
      if (type === "session.created" && properties.info.parentID) parents.set(properties.info.id, properties.info.parentID)
      if (type === "session.idle") tellNow(type, properties.sessionID)
      if (type === "session.deleted") await tell(type, properties.info.id)
      const part = type === "message.part.updated" ? properties.part : undefined
      // a tool that fails has no tool.execute.after
      if (part?.type === "tool" && part.state.status === "error" && !READS.has(part.tool))
        await tell("tool.execute.error", part.sessionID, { callID: part.callID, tool: part.tool, args: part.state.input })
    },
    dispose: async () => {
      for (const sessionID of messages.keys()) tellNow("dispose", sessionID)
    },
  }
}
