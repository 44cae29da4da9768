// Written by `remora install`; `remora uninstall` removes it. Gives Remora what happens in a session, and the session what
// Remora knows. Whatever goes wrong here, the session goes on.
import { spawnSync } from "node:child_process"

const PROGRAM = "REMORA"

const call = (event, message) => {
  try {
    const input = JSON.stringify(message)
    const done = spawnSync(PROGRAM, ["hook", "opencode", "--event", event], { input, timeout: 5000, encoding: "utf8" })
    return done.stdout ? JSON.parse(done.stdout).additionalContext : undefined
  } catch {
    return undefined
  }
}

export const Remora = async ({ directory }) => {
  const known = new Map() // what a session gets, by its id
  const roles = new Map() // who wrote a message, by its id
  const last = new Map() // the agent's last words, by session
  const subagents = new Set()

  const keep = (session, text) => {
    if (text) known.set(session, [...(known.get(session) ?? []), text])
  }

  return {
    event: async ({ event }) => {
      const { type, properties } = event
      if (type === "session.created") {
        if (properties.info?.parentID) subagents.add(properties.info.id)
        else keep(properties.info?.id, call("event:session.created", { ...properties, directory }))
      } else if (type === "message.updated") {
        roles.set(properties.info?.id, properties.info?.role)
      } else if (type === "message.part.updated") {
        const { part } = properties
        if (part?.type === "text" && roles.get(part.messageID) === "assistant") last.set(part.sessionID, part.text)
      } else if (type === "session.idle" && !subagents.has(properties.sessionID)) {
        const message = last.get(properties.sessionID) ?? ""
        call("event:session.idle", { ...properties, directory, last_assistant_message: message })
        last.delete(properties.sessionID)
      }
    },
    "chat.message": async (input, output) => {
      if (!subagents.has(input.sessionID)) {
        keep(input.sessionID, call("chat.message", { input, output, directory }))
      }
    },
    "tool.execute.after": async (input, output) => {
      if (!subagents.has(input.sessionID)) call("tool.execute.after", { input, output, directory })
    },
    "experimental.chat.system.transform": async (input, output) => {
      for (const text of known.get(input.sessionID) ?? []) output.system?.push(text)
    },
  }
}
