import { existsSync } from "node:fs";
import { join } from "node:path";
import { getClientFolder } from "../../../../test/install-clients.ts";
import { clientSets, claudeCodeSets, type ClaudeCodeSet } from "../../../../test/pinned-clients.ts";
import type { Agent, AgentCommand, AgentPlace } from "../agent.ts";

export const claudeCodeAgents: Agent[] = claudeCodeSets.map((set) => ({
  name: "claude-code",
  wire: "messages",
  set,
  version: clientSets[set]["@anthropic-ai/claude-code"],
  isLong: set !== "claude-code",
  buildCommand: (prompt, place, isResumed) =>
    buildClaudeCommand(place, [...(isResumed ? ["--continue"] : []), prompt], { set }),
}));

/** Claude Code without a terminal, and without approvals in its own folder. */
function buildClaudeCommand(
  { url, model }: AgentPlace,
  args: readonly string[],
  { set = "claude-code", env = {} }: { set?: ClaudeCodeSet; env?: Record<string, string> } = {},
): AgentCommand {
  return {
    ...findClaude(set, ["-p", "--dangerously-skip-permissions", ...args]),
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: "local",
      ANTHROPIC_MODEL: model,
      ANTHROPIC_SMALL_FAST_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_CONTEXT_TOKENS: "200000",
      DISABLE_AUTOUPDATER: "1",
      // It refuses to skip permissions as root without this.
      IS_SANDBOX: "1",
      ...env,
    },
  };
}

/** Newer releases are a binary in an optional package, which the install script would link; older ones are JavaScript. */
function findClaude(set: ClaudeCodeSet, args: string[]): AgentCommand {
  const scope = join(getClientFolder(set), "node_modules", "@anthropic-ai");
  const script = join(scope, "claude-code", "cli.js");
  if (existsSync(script)) return { program: process.execPath, commandArguments: [script, ...args] };
  const suffix = process.platform === "win32" ? ".exe" : "";
  const binary = `claude-code-${process.platform}-${process.arch}`;
  return { program: join(scope, binary, `claude${suffix}`), commandArguments: args };
}
