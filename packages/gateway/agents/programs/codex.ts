import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { clientSets, olderCodexSets } from "../../../../test/pinned-clients.ts";
import { buildCommand, formatConfig } from "../../clients/codex.ts";
import type { Agent } from "../agent.ts";
import { wires } from "../wires.ts";

const oldestSets: ReadonlySet<string> = new Set(["codex-0.98.0", "codex-0.94.0"]);

const ignoredInterrupt = {
  kind: "unsupported",
  upstreams: wires,
  reason: "codex 0.94.0 reads the stream to its end after an interrupt",
} as const;

/** Codex. Its last version with the Chat API is one of the older ones. */
export const codexAgents: Agent[] = (["current", ...olderCodexSets] as const).map((set) => {
  const wire = set === "codex-0.94.0" ? "chat" : "responses";
  return {
    name: "codex",
    wire,
    set,
    version: clientSets[set]["@openai/codex"],
    isLong: set !== "current",
    // These versions ask for OpenAI's models first.
    ...(oldestSets.has(set) ? { outsideHost: "api.openai.com:443" } : {}),
    ...(set === "codex-0.94.0" ? { limits: { cancel: ignoredInterrupt } } : {}),
    configure: ({ url, model, home }) =>
      writeFile(join(home, "config.toml"), formatConfig({ url, model, wire })),
    buildCommand(prompt, { home }, isResumed) {
      const resumed = isResumed ? ["resume", "--last"] : [];
      const args = ["exec", "--json", "--skip-git-repo-check", ...resumed, prompt];
      const { commandArguments, env } = buildCommand({ from: set }, args);
      return { program: process.execPath, commandArguments, env: { CODEX_HOME: home, ...env } };
    },
  };
});
