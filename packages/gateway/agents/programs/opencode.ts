import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getClientFolder } from "../../../../test/install-clients.ts";
import type { Agent } from "../agent.ts";
import { wires } from "../wires.ts";

const adapters = {
  chat: "@ai-sdk/openai-compatible",
  responses: "@ai-sdk/openai",
  messages: "@ai-sdk/anthropic",
};

export const opencodeAgents: Agent[] = wires.map((wire) => ({
  name: "opencode",
  wire,
  set: "opencode",
  isLong: true,
  // It looks up its newest version there.
  outsideHost: "registry.",
  async configure({ url, model, cwd }) {
    const name = `deltawire/${model}`;
    const limit = { context: 128_000, output: 8192 };
    const provider = {
      npm: adapters[wire],
      options: { baseURL: `${url}/v1`, apiKey: "local" },
      models: { [model]: { reasoning: true, tool_call: true, limit } },
    };
    const settings = {
      autoupdate: false,
      share: "disabled",
      permission: "allow",
      model: name,
      small_model: name,
      provider: { deltawire: provider },
    };
    await writeFile(join(cwd, "opencode.json"), JSON.stringify(settings));
  },
  buildCommand(prompt, { model }, isResumed) {
    const modules = join(getClientFolder("opencode"), "node_modules");
    const suffix = process.platform === "win32" ? ".exe" : "";
    return {
      program: join(
        modules,
        `opencode-${process.platform}-${process.arch}`,
        "bin",
        `opencode${suffix}`,
      ),
      commandArguments: [
        "run",
        ...(isResumed ? ["--continue"] : ["--title", "A title"]),
        "--model",
        `deltawire/${model}`,
        prompt,
      ],
      env: {
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
    };
  },
}));
