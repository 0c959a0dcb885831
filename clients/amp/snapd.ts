// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// snapd: the plugin for Amp, which wants the line above. It tells `snapd hook amp` what Amp does; README.md has each event.
// `snapd agent install amp` puts it into ~/.config/amp/plugins, `snapd agent uninstall amp` takes it out.
import { spawn } from "node:child_process"

const PROGRAM = "snapd"
const LIMIT = 10_000 // milliseconds; snapd gives up long before
const READS = new Set(["Read", "Grep", "glob", "finder", "list_directory", "read_web_page", "web_search", "oracle", "librarian"])

type Known = Record<string, unknown>

function tell(event: string, sessionID: string | undefined, more: Known): Promise<string | undefined> {
  return new Promise((done) => {
    const directory = process.cwd()
    const child = spawn(PROGRAM, ["hook", "amp"], { stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT })
    let answer = ""
    child.stdout.on("data", (data: unknown) => (answer += String(data)))
    child.stdin.on("error", () => {})
    child.on("error", () => done(undefined))
    child.on("close", () => {
      try {
        done(JSON.parse(answer).additionalContext)
      } catch {
        // no answer is the usual one
        done(undefined)
      }
    })
    child.stdin.end(JSON.stringify({ event, sessionID, directory, ...more }))
  })
}

export default function snapd(amp: any) {
  const messages = new Map<string, string>() // of each thread: the message that it works on
  const untold = new Map<string, string[]>() // of each thread: what the agent is still to be told
  const threadOf = (event: any, ctx: any): string => String(event?.thread?.id ?? ctx?.thread?.id ?? "")

  const pass = async (name: string, event: any, ctx: any, more: Known = {}) => {
    const sessionID = threadOf(event, ctx)
    const said = await tell(name, sessionID, { messageID: messages.get(sessionID), ...more })
    if (said) untold.set(sessionID, [...(untold.get(sessionID) ?? []), said])
  }

  amp.on("agent.start", async (event: any, ctx: any) => {
    const sessionID = threadOf(event, ctx)
    messages.set(sessionID, String(event.id))
    await pass("chat.message", event, ctx, { prompt: event.message })
    const said = untold.get(sessionID)
    untold.delete(sessionID)
    return said ? { message: { content: said.join("\n") } } : {}
  })
  amp.on("tool.call", async (event: any, ctx: any) => {
    const { toolUseID: callID, tool, input: args } = event
    if (!READS.has(tool)) await pass("tool.execute.before", event, ctx, { callID, tool, args })
    return { action: "allow" }
  })
  amp.on("tool.result", async (event: any, ctx: any) => {
    const { toolUseID: callID, tool, input: args, status } = event
    const name = status === "done" ? "tool.execute.after" : "tool.execute.error"
    if (!READS.has(tool)) await pass(name, event, ctx, { callID, tool, args })
  })
  amp.on("agent.end", (event: any, ctx: any) => pass("session.idle", event, ctx))
}
