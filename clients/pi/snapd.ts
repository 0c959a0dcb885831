// snapd: the extension for Pi. It tells `snapd hook pi` what Pi does; README.md has each event.
// `snapd agent install pi` puts it into ~/.pi/agent/extensions, `snapd agent uninstall pi` takes it out.
import { spawn } from "node:child_process"

const PROGRAM = "snapd"
const LIMIT = 10_000 // milliseconds; snapd gives up long before
const READS = new Set(["read", "grep", "find", "ls"])

export default function snapd(pi: any) {
  let messageID: string | undefined
  let untold: string[] = []

  const tell = (event: string, ctx: any, more: Record<string, unknown> = {}) =>
    new Promise<void>((done) => {
      const sessionID = ctx.sessionManager.getSessionId?.() ?? ctx.sessionManager.getSessionFile?.()
      const child = spawn(PROGRAM, ["hook", "pi"], { cwd: ctx.cwd, stdio: ["pipe", "pipe", "ignore"], timeout: LIMIT })
      let answer = ""
      child.stdout.on("data", (data: unknown) => (answer += String(data)))
      child.stdin.on("error", () => {})
      child.on("error", () => done())
      child.on("close", () => {
        try {
          const { additionalContext } = JSON.parse(answer)
          if (additionalContext) untold.push(additionalContext)
        } catch {
          // no answer is the usual one
        }
        done()
      })
      child.stdin.end(JSON.stringify({ event, sessionID, messageID, directory: ctx.cwd, ...more }))
    })

  pi.on("before_agent_start", async (event: any, ctx: any) => {
    // Pi has no name for a prompt
    messageID = `prompt-${Date.now().toString(36)}`
    await tell("chat.message", ctx, { prompt: event.prompt })
    if (untold.length === 0) return
    const content = untold.join("\n")
    untold = []
    return { message: { customType: "snapd", content, display: true } }
  })
  pi.on("tool_call", async (event: any, ctx: any) => {
    const { toolCallId: callID, toolName: tool, input: args } = event
    if (!READS.has(tool)) await tell("tool.execute.before", ctx, { callID, tool, args })
  })
  pi.on("tool_result", async (event: any, ctx: any) => {
    const { toolCallId: callID, toolName: tool, input: args, isError } = event
    if (!READS.has(tool)) await tell(isError ? "tool.execute.error" : "tool.execute.after", ctx, { callID, tool, args })
  })
  pi.on("agent_end", (_: any, ctx: any) => tell("session.idle", ctx))
  pi.on("session_shutdown", (_: any, ctx: any) => tell("dispose", ctx))
}
