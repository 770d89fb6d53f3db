import { join } from "node:path";
import { getClientFolder } from "../../../../test/install-clients.ts";
import { clientSets } from "../../../../test/pinned-clients.ts";
import type { Agent } from "../agent.ts";
import { buildLibraryCommand } from "./library-agent.ts";

export const langchainAgents: Agent[] = (["chat", "responses"] as const).map((wire) => ({
  name: "langchain",
  wire,
  set: "current",
  version: clientSets.current["@langchain/openai"],
  buildCommand: (prompt, place, isResumed) =>
    buildLibraryCommand("langchain-agent.ts", {
      ...place,
      wire,
      prompt,
      isResumed,
      library: "@langchain/openai",
      requireFrom: join(getClientFolder("current"), "package.json"),
    }),
}));
