import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getClientFolder } from "../../../../test/install-clients.ts";
import type { Agent } from "../agent.ts";
import { wires } from "../wires.ts";

const apis = {
  chat: "openai-completions",
  responses: "openai-responses",
  messages: "anthropic-messages",
};

export const piAgents: Agent[] = wires.map((wire) => ({
  name: "pi",
  wire,
  set: "pi",
  async configure({ url, model, home }) {
    const folder = join(home, ".pi", "agent");
    const models = [{ id: model, reasoning: true, contextWindow: 128_000, maxTokens: 8192 }];
    const baseUrl = wire === "messages" ? url : `${url}/v1`;
    const provider = { baseUrl, api: apis[wire], apiKey: "local", models };
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "models.json"),
      JSON.stringify({ providers: { deltawire: provider } }),
    );
  },
  buildCommand(prompt, { model }, isResumed) {
    const folder = join(getClientFolder("pi"), "node_modules", "@earendil-works");
    return {
      program: process.execPath,
      commandArguments: [
        join(folder, "pi-coding-agent", "dist", "bundle", "cli.js"),
        "-p",
        ...(isResumed ? ["--continue"] : []),
        "--provider",
        "deltawire",
        "--model",
        model,
        prompt,
      ],
      env: { PI_OFFLINE: "1", PI_TELEMETRY: "0" },
    };
  },
}));
